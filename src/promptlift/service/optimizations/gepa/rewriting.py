"""Rewrite a prompt as GEPA asks for it: show conversations as data, and tell what is wrong with the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.failures import LlmBadAnswer, LlmRefused
from promptlift.service.llm.hostile_text import storable_line, storable_text
from promptlift.service.optimizations.generations.reflection import Reflection
from promptlift.service.optimizations.tasks import RewriteRequest
from promptlift.service.optimizations.variants.checks import problems_of
from promptlift.service.search import guards
from promptlift.service.search.edits import Edit
from promptlift.service.simulations.run import is_hopeless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from promptlift.service.optimizations.tasks import ShownConversation
    from promptlift.service.search.choice import Seen
    from promptlift.service.search.pool import Search

__all__ = ["Lesson", "Rewriting"]

# Requests for one text at most: the second one says what is wrong with the first answer.
ROUNDS: Final = 2
EVIDENCE: Final = 3
QUOTE_CHARS: Final = 300
SYMPTOM_CHARS: Final = 500
REASON_CHARS: Final = 400
# Shorter sentences, such as headings, are in many messages.
WORDS_LEAST: Final = 3
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What GEPA wants a new text to be written from.

    Attributes
    ----------
    parent
        Number of the candidate that held the conversations.
    content
        Its text.
    conversations
        As they may be shown.
    seen
        The same conversations by the names that ``conversations`` gives them.
    quotes
        Last words of the assistant in each, by the same names.
    strangers
        What the simulated people said.
    """

    parent: int
    content: str
    conversations: Sequence[ShownConversation] = ()
    seen: Mapping[str, Seen] = field(default_factory=dict)
    quotes: Mapping[str, str] = field(default_factory=dict)
    strangers: Sequence[str] = ()


class Rewriting(Reflection):
    """Writes the candidates of a run of GEPA; see ``Reflection``."""

    def lesson(self, parent: int, content: str, simulated: Sequence[Seen]) -> Lesson:
        """Return simulated conversations as they may be shown.

        Names and numbers of logged conversations are masked, because GEPA asks its writer to take over what is special.
        """
        found = self._shown(simulated)
        words = self._logged_words()
        quotes = {
            one.id: next((text for role, text in reversed(one.turns) if role == "assistant"), "")
            for one in found.conversations
        }
        conversations = [
            replace(
                one,
                issues=[words.masked(title) for title in one.issues],
                turns=[(role, _unfenced(words.masked(text))) for role, text in one.turns],
            )
            for one in found.conversations
        ]
        return Lesson(parent, content, conversations, found.seen, quotes, found.strangers)

    def rewrite(
        self, name: str, asked: str, lesson: Lesson, search: Search, extract: Callable[[str], str]
    ) -> tuple[Edit, str | None]:
        """Write a text, and say why it may not be tested; ``None`` when it may.

        Parameters
        ----------
        name
            Id of the edit that the text becomes.
        asked
            GEPA's request.
        extract
            Finds the text in an answer, as GEPA does.

        Raises
        ------
        LlmUnavailable, LlmRefused
            The model cannot be asked anything. That it does not take this request is a reason like others.
        """
        text = ""
        problems: list[str] = []
        for round_ in range(ROUNDS):
            request = RewriteRequest(
                asked=asked,
                prompt=self._run.prompt,
                content=lesson.content,
                conversations=lesson.conversations,
                intent=self._intent,
                general=self._run.general,
                problems=problems,
                seed=self._row.seed + ROUNDS * int(name[1:]) + round_,
            )
            try:
                answer = self._run.tasks.rewrite(request)
            except (LlmBadAnswer, LlmRefused) as error:
                if is_hopeless(error):
                    raise
                text, problems = "", [str(error)]
                continue
            text = storable_text(extract(answer.text))
            problems = list(self._problems(text, search, lesson.strangers, mark=answer.mark))
            if not problems:
                break
        reason = storable_line(" ".join(problems), REASON_CHARS) or None
        return self._as_edit(name, text, lesson), reason

    def _problems(
        self, text: str, search: Search, strangers: Sequence[str], *, mark: str | None
    ) -> Iterator[str]:
        """Return what is wrong with a text; the same rules as for variants and for edits of our own search."""
        original = self._run.prompt.content
        yield from problems_of(text, original=original, others=(), mark=mark)
        for words in (self._logged_words(), self._simulated_words(search)):
            yield from words.repeated(text).problems()
        yield from (f"It brings in an address: {one}." for one in guards.new_addresses(text, original))
        if self._exclusions.new_in(text, "\n".join(self._own)):
            yield "It brings in data or topics that the organization excludes."
        new = (one for one in _SENTENCE_END.split(text) if one not in original)
        if any(guards.says_what_was_said(one, strangers) for one in new if len(one.split()) >= WORDS_LEAST):
            yield "It says what somebody said in a conversation."

    def _as_edit(self, name: str, text: str, lesson: Lesson) -> Edit:
        failed = [one for one in lesson.conversations if not one.completed]
        seen = [lesson.seen[one.id] for one in failed]
        evidence = [
            (lesson.seen[one.id].id, quote[:QUOTE_CHARS])
            for one in failed
            if (quote := lesson.quotes[one.id])
        ]
        titles = dict.fromkeys(chain.from_iterable(one.issues for one in failed))
        return Edit(
            id=name,
            operation="replace",
            anchor=self._run.prompt.content,
            text=text,
            symptom=storable_line("; ".join(titles), SYMPTOM_CHARS),
            cause="",
            evidence=tuple(evidence[:EVIDENCE]),
            issues=tuple(dict.fromkeys(chain.from_iterable(one.issues for one in seen))),
        )


def _unfenced(text: str) -> str:
    """Return what was said without the marks between which GEPA sets it apart."""
    return text.replace(_FENCE, "'''")
