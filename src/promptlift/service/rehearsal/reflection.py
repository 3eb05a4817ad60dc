"""The writer of edits: it recognises the symptoms in the transcripts that it is shown, and words a rule against each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.service.optimizations.tasks import EditDraft
from promptlift.service.rehearsal.causes import CAUSES
from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.lines import MARK, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.optimizations.tasks import EditsRequest, ShownConversation
    from promptlift.service.rehearsal.causes import Cause

__all__ = ["Suspicion", "Wording", "suspect_causes", "word_edit", "write_edits"]

_BY_FAILING: Final = {one.failing: one for one in CAUSES}
_QUOTE_CHARS: Final = 120
_EVIDENCE: Final = 3
# How often the first rule against a symptom is the right one, and one that replaces a rule that did not help.
_RIGHT_AT_FIRST: Final = 0.6
_RIGHT_AFTERWARDS: Final = 0.85


class Suspicion(NamedTuple):
    """A cause that the writer suspects, with a quote from each conversation in which it saw the symptom."""

    cause: Cause
    quotes: Sequence[tuple[str, str]]


class Wording(NamedTuple):
    """How an edit changes the text."""

    operation: Literal["add", "replace"]
    anchor: str
    text: str


def write_edits(request: EditsRequest, seed: int) -> list[EditDraft]:
    """Write an edit against each symptom in the failed conversations, the most frequent first.

    Parameters
    ----------
    seed
        Seed of the run.
    """
    content = request.prompt.content
    edits = []
    for cause, quotes in suspect_causes(request.conversations, seed):
        wording = word_edit(cause, content, seed, request.seed, *(conversation for conversation, _ in quotes))
        if wording is not None:
            evidence = list(quotes[:_EVIDENCE])
            edits.append(EditDraft(f"Rehearsal: {cause.symptom}.", cause.why, evidence, *wording))
    return edits


def suspect_causes(shown: Sequence[ShownConversation], seed: int) -> list[Suspicion]:
    """Return the causes that failed conversations point to, the one seen most often first.

    Where no line of the rehearsal is recognised, as in conversations of real people, the cause is a guess.
    """
    quotes: dict[str, list[tuple[str, str]]] = {}
    for conversation in shown:
        if conversation.completed:
            continue
        said = [text.removeprefix(MARK).strip() for role, text in conversation.turns if role == "assistant"]
        symptoms = [(kind, text) for text in said if (kind := kind_of(text)) in _BY_FAILING]
        if symptoms:
            failing, words = symptoms[0]
        elif said and said[-1]:
            failing, words = Draws(seed, "guess", *said).one_of(CAUSES).failing, said[-1]
        else:
            continue
        quotes.setdefault(str(failing), []).append((conversation.id, words[:_QUOTE_CHARS].rstrip()))
    ordered = sorted(quotes.items(), key=lambda item: -len(item[1]))
    return [Suspicion(next(one for one in CAUSES if one.failing == name), seen) for name, seen in ordered]


def word_edit(cause: Cause, content: str, seed: int, *key: str | int) -> Wording | None:
    """Word a rule against a cause; ``None`` where the text holds its cure.

    Parameters
    ----------
    content
        The text to change. A rule of an earlier edit in it that did not help is replaced.
    key
        What the choice depends on besides the seed.
    """
    if cause.is_mended_by(content):
        return None
    tried = next((one for one in cause.beside if one in content), None)
    draws = Draws(seed, "rule", cause.failing, *key)
    right = draws.uniform() < (_RIGHT_AT_FIRST if tried is None else _RIGHT_AFTERWARDS)
    choices = cause.rules if right else [one for one in cause.beside if one != tried]
    text = draws.one_of(choices)
    return Wording("add", "", text) if tried is None else Wording("replace", tried, text)
