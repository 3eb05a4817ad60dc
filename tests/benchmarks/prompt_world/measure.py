"""What an optimizer's run in a world came to, and the table over many worlds."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final

from benchmarks.prompt_world.engines import ENGINES
from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.vocabulary import SEED_LINES
from benchmarks.prompt_world.world import draw_world
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.prompt_world.engines import Limits
    from benchmarks.prompt_world.world import World

__all__ = ["Measured", "anatomy", "copied_words", "is_causal", "lost_lines", "means", "measure", "table"]

RUN: Final = 5
# A named prompt is right or harmful when it is this many points better or worse than the original.
POINTS_THAT_COUNT: Final = 1.0
# Families in which nothing can be gained.
NO_GAIN: Final = ("null", "no-headroom")
_END: Final = re.compile(r"\n+|(?<=[.!?])\s+")
_WORD: Final = re.compile(r"\w+(?:'\w+)*")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one optimizer in one world.

    Attributes
    ----------
    gain
        True points of what was named; 0 when nothing was.
    copied
        Words that the named prompt repeats from conversations.
    lost
        Lines of the seed prompt that hold a placeholder, rule or number and are missing in the named one.
    causal
        Whether the edit that is said to be worth most carries a cure or takes the defect away; ``None`` where none is named.
    words
        Words that the named prompt has more than the original.
    cures, repeats, idle
        Added sentences that mend something new, that repeat such a one, and that do neither.
    lean
        True points of the named prompt without the repeats and the idle ones.
    """

    family: str
    seed: int
    engine: str
    mode: str
    gain: float
    named: bool
    told_headroom: bool
    conversations: int
    tokens: int
    copied: tuple[str, ...]
    lost: tuple[str, ...]
    seconds: float
    causal: bool | None = None
    words: int = 0
    cures: int = 0
    repeats: int = 0
    idle: int = 0
    lean: float = 0.0

    @property
    def right(self) -> bool:
        """Whether what was named is better."""
        return self.named and self.gain >= POINTS_THAT_COUNT

    @property
    def harmful(self) -> bool:
        """Whether what was named is worse."""
        return self.named and self.gain <= -POINTS_THAT_COUNT


def measure(family: str, seed: int, engine: str, mode: str, limits: Limits | None = None) -> Measured:
    """Run an optimizer in a world."""
    started = time.monotonic()
    world = draw_world(family, seed)
    model = WorldModel(world)
    named = ENGINES[engine](world, model, mode, seed, limits)
    said = [text for one in world.log for _, text in one.messages] + sorted(model.heard)
    return Measured(
        family=family,
        seed=seed,
        engine=engine,
        mode=mode,
        gain=world.gain(named.text),
        named=named.text is not None,
        told_headroom=named.told_headroom,
        conversations=model.conversations,
        tokens=model.tokens,
        copied=() if named.text is None else copied_words(named.text, said, own=world.seed_prompt),
        lost=() if named.text is None else lost_lines(named.text, world),
        seconds=time.monotonic() - started,
        causal=None
        if named.text is None or named.without_cause is None
        else is_causal(world, named.text, named.without_cause),
        **({} if named.text is None else anatomy(world, named.text)),
    )


def is_causal(world: World, text: str, without: str) -> bool:
    """Whether what a text has more than another carries a cure, or the text lacks the defect that the other has."""
    if world.defect is not None and world.defect[0] in without and world.defect[0] not in text:
        return True
    others = set(sentences(without))
    more = [one.casefold() for one in sentences(text) if one not in others]
    return world.mendable and any(
        mode.mended_by(one, text.casefold()) for mode in world.modes for one in more
    )


def anatomy(world: World, text: str) -> dict[str, Any]:
    """Tell what the sentences that a text has more than the seed prompt are good for, as fields of ``Measured``."""
    own = sentences(world.seed_prompt)
    small = text.casefold()
    mended: set[int] = set()
    counts = dict.fromkeys(("cures", "repeats", "idle"), 0)
    lean = text
    for sentence in sentences(text):
        if sentence in own:
            continue
        modes = enumerate(world.modes) if world.mendable else ()
        found = {number for number, mode in modes if mode.mended_by(sentence.casefold(), small)}
        kind = "cures" if found - mended else "repeats" if found else "idle"
        counts[kind] += 1
        mended |= found
        if kind != "cures":
            before, _, after = lean.rpartition(sentence)
            lean = f"{before.rstrip(' ')}{after}"
    words = len(text.split()) - len(world.seed_prompt.split())
    return {**counts, "words": words, "lean": world.gain(lean)}


def sentences(text: str) -> list[str]:
    """Divide a prompt into its sentences."""
    return [one for one in _END.split(text) if one.strip()]


def copied_words(text: str, said: Iterable[str], *, own: str = "") -> tuple[str, ...]:
    """Return the runs of five words that a text repeats from what was said and that its owner did not write."""
    wanted = _runs(text) - _runs(own)
    found: set[str] = set()
    for one in said:
        found |= wanted & _runs(one)
    return tuple(sorted(found))


def lost_lines(text: str, world: World) -> tuple[str, ...]:
    """Return the lines of the seed prompt with a placeholder, a rule or a number that a text no longer has."""
    bound = [line for line in SEED_LINES if "{{" in line or "Never" in line or any(map(str.isdigit, line))]
    return tuple(line for line in bound if line in world.seed_prompt and line not in text)


def table(measured: Sequence[Measured]) -> str:
    """Return a Markdown table with one row a family, mode and engine."""
    head = (
        "family", "mode", "engine", "worlds", "gain (± SE)", "lean", "names", "right", "harmful", "words", "cure / repeat / idle",
        "cause", "conversations", "tokens", "told headroom", "copied", "lost", "seconds",
    )  # fmt: skip
    groups: dict[tuple[str, str, str], list[Measured]] = {}
    for one in measured:
        groups.setdefault((one.family, one.mode, one.engine), []).append(one)
    return "\n".join(markdown(head, (_row(key, group) for key, group in groups.items())))


def _row(key: tuple[str, str, str], group: Sequence[Measured]) -> tuple[str, ...]:
    named = [one for one in group if one.named]
    return (
        *key,
        str(len(group)),
        _mean([one.gain for one in group]),
        f"{fmean(one.lean for one in group):.1f}",
        *(_share(getattr(one, name) for one in group) for name in ("named", "right", "harmful")),
        f"{fmean(one.words for one in named):.0f}" if named else "",
        _anatomies(named),
        _share(one.causal for one in group if one.causal is not None),
        f"{fmean(one.conversations for one in group):.0f}",
        f"{fmean(one.tokens for one in group) / 1000:.0f}k",
        _share(one.told_headroom for one in group),
        _share(bool(one.copied) for one in group),
        _share(bool(one.lost) for one in group),
        f"{fmean(one.seconds for one in group):.0f}",
    )


def means(measured: Sequence[Measured], *, peers: Sequence[str]) -> str:
    """Return a Markdown table of the means over families with headroom, and of what the search gains on its peers.

    Every family counts the same. A gain on a peer is of the worlds that both have been measured in.

    Parameters
    ----------
    peers
        Engines that the search is compared with.
    """
    head = (
        "mode",
        "engine",
        "worlds",
        "gain (± SE)",
        "lean",
        "words",
        "cure / repeat / idle",
        "cause",
        "tokens",
        "search gains",
    )
    found = {(one.mode, one.engine, one.family, one.seed): one for one in measured}
    rows = []
    for mode, engine in dict.fromkeys(key[:2] for key in found):
        group = [one for key, one in found.items() if key[:2] == (mode, engine) and one.family not in NO_GAIN]
        if not group:
            continue
        named = [one for one in group if one.named]
        pairs = [
            (one.family, found[mode, "search", one.family, one.seed].gain - one.gain)
            for one in group
            if engine in peers and (mode, "search", one.family, one.seed) in found
        ]
        rows.append(
            (
                mode,
                engine,
                str(len(group)),
                _over_families([(one.family, one.gain) for one in group]),
                _over_families([(one.family, one.lean) for one in group]),
                f"{fmean(one.words for one in named):.0f}" if named else "",
                _anatomies(named),
                _share(one.causal for one in group if one.causal is not None),
                f"{fmean(one.tokens for one in group) / 1000:.0f}k",
                _over_families(pairs) if pairs else "",
            )
        )
    return "\n".join(markdown(head, rows))


def _over_families(values: Sequence[tuple[str, float]]) -> str:
    """Return the mean of the means of families, with its standard error."""
    groups: dict[str, list[float]] = {}
    for family, value in values:
        groups.setdefault(family, []).append(value)
    mean = fmean(map(fmean, groups.values()))
    if min(map(len, groups.values())) < 2:
        return f"{mean:.1f}"
    variance = sum(stdev(group) ** 2 / len(group) for group in groups.values()) / len(groups) ** 2
    return f"{mean:.1f} ± {variance**0.5:.1f}"


def _mean(values: Sequence[float]) -> str:
    return _over_families([("", value) for value in values])


def _anatomies(named: Sequence[Measured]) -> str:
    counts = [sum(getattr(one, kind) for one in named) for kind in ("cures", "repeats", "idle")]
    return " / ".join(f"{count / sum(counts):.2f}" for count in counts) if sum(counts) else ""


def _share(of: Iterable[bool]) -> str:
    values = list(of)
    return f"{sum(values)} of {len(values)}"


def _runs(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    return {" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
