"""The writer of a world: it finds the cure of a symptom only when it has been shown the symptom, and else invents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.prompt_world import vocabulary

if TYPE_CHECKING:
    import random

    from benchmarks.prompt_world.world import Mode, World

__all__ = ["Edit", "apply_edits", "shown_symptoms", "write_edits", "write_prompt"]

# Of the causes that share a symptom, the rarest comes to a writer's mind this often.
RARE_CAUSE: Final = 0.6

_OPENING: Final = re.compile(r"Hello, \w+ \w+ here with order \d+\.")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a prompt, as the API of a reflection names it."""

    symptom: str
    cause: str
    operation: str
    anchor: str
    text: str


def shown_symptoms(world: World, context: str) -> list[str]:
    """List the symptoms in a text in the order in which they first stand there."""
    small = context.casefold()
    known = dict.fromkeys(mode.symptom for mode in world.modes)
    if world.defect is not None:
        known[world.defect[1]] = None
    places = {symptom: small.find(symptom) for symptom in known}
    return sorted((symptom for symptom in known if places[symptom] >= 0), key=places.__getitem__)


def write_edits(
    world: World, prompt: str, context: str, rng: random.Random, *, aimed: bool = True
) -> list[Edit]:
    """Write edits of a prompt.

    Parameters
    ----------
    context
        What else the writer was shown.
    aimed
        Whether it was asked to work against what went wrong; else it does so now and then.
    """
    writer = world.writer
    edits = []
    for symptom in shown_symptoms(world, context):
        if len(edits) == writer.attention:
            break
        if not aimed and rng.random() >= writer.focus:
            continue
        if world.defect is not None and symptom == world.defect[1]:
            if world.defect[0] in prompt and rng.random() < writer.finds:
                edits.append(Edit(symptom, "The prompt asks for it.", "delete", world.defect[0], ""))
            continue
        mode = _suspected(world, prompt, symptom, rng)
        if mode is None:
            continue
        if rng.random() < writer.finds:
            rule = rng.choice(vocabulary.RULES).format(cure=rng.choice(mode.cures))
        else:
            rule = vocabulary.GUESS.format(theme=mode.theme)
        if rule not in prompt:
            edits.append(Edit(symptom, _cause(world, mode, rng), "add", "", rule))
    openings = _OPENING.findall(context)
    if openings and rng.random() < writer.copies:
        rule = f"When somebody writes “{rng.choice(openings)}”, settle it at once."
        edits.append(Edit("", "This person was left alone.", "add", "", rule))
    made_up = (1 if rng.random() < writer.fills else 0) if edits else 2
    fillers = [text for text in vocabulary.FILLERS if text not in prompt]
    edits += [
        Edit("", "It reads better.", "add", "", text)
        for text in rng.sample(fillers, min(made_up, len(fillers)))
    ]
    return edits


def write_prompt(world: World, prompt: str, context: str, rng: random.Random, *, aimed: bool = True) -> str:
    """Write a whole new prompt, which may lose a placeholder or a rule of the old one."""
    lines = apply_edits(prompt, write_edits(world, prompt, context, rng, aimed=aimed)).split("\n")
    if rng.random() < world.writer.drops:
        if rng.random() < 0.5:
            return "\n".join(line.replace("{{shop_name}}", "the shop") for line in lines)
        return "\n".join(line for line in lines if not line.startswith("Never "))
    return "\n".join(lines)


def apply_edits(prompt: str, edits: list[Edit]) -> str:
    """Apply edits to a prompt; one whose anchor is not there changes nothing."""
    for edit in edits:
        if edit.operation == "add":
            prompt = f"{prompt}\n{edit.text}"
        elif edit.anchor:
            kept = (line.replace(edit.anchor, edit.text) for line in prompt.split("\n"))
            prompt = "\n".join(line for line in kept if line.strip())
    return prompt


def _suspected(world: World, prompt: str, symptom: str, rng: random.Random) -> Mode | None:
    """Guess which mode shows a symptom; ``None`` when the prompt has a rule for each, and it is not written again."""
    small = prompt.casefold()
    known = [mode for mode in world.modes if mode.symptom == symptom]
    causes = [mode for mode in known if not mode.named_in(small)]
    if not causes:
        return rng.choice(known) if rng.random() < world.writer.repeats else None
    return causes[-1] if rng.random() < RARE_CAUSE else causes[0]


def _cause(world: World, mode: Mode, rng: random.Random) -> str:
    """Name the cause of a failure, rightly or not."""
    if rng.random() < world.writer.labels:
        return f"Nothing is said of the {mode.theme}."
    if rng.random() < 0.5:
        return "A rule is missing or too vague."
    return f"Nothing is said of the {rng.choice(world.modes).theme}."
