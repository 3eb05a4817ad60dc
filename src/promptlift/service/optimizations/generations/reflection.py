"""Write the candidates of a search: show what failed, take the edits that may be tested, refuse the others with reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.llm.availability import is_hopeless
from promptlift.service.llm.failures import LlmBadAnswer, LlmRefused
from promptlift.service.llm.hostile_text import storable_line, storable_text
from promptlift.service.optimizations.tasks import EditsRequest, ShownConversation
from promptlift.service.optimizations.variants.checks import problems_of
from promptlift.service.optimizations.variants.logged_words import LoggedWords
from promptlift.service.optimizations.variants.request import owners_words
from promptlift.service.search import guards
from promptlift.service.search.choice import CHARS_MOST, Seen, bounded_turns, choose
from promptlift.service.search.edits import Edit, assemble, join
from promptlift.service.search.pool import Child
from promptlift.service.store import conversations, optimizations, simulations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptlift.service.optimizations.run import OptimizationRun
    from promptlift.service.optimizations.tasks import EditDraft
    from promptlift.service.search.pool import Search, Write
    from promptlift.service.store.tables import AnyRow

__all__ = ["Reflection", "Written"]

LINE_CHARS: Final = 500
REASON_CHARS: Final = 400


@dataclass(slots=True)
class Written:
    """What the writer of a generation came to.

    Attributes
    ----------
    refused
        Edits that may not be tested, each with its reason, and the place of the child that they were written for.
    shown
        How often an issue was shown by now.
    conversations
        Logged conversations that were shown.
    problem
        Why the model could not be asked for more; ``None`` when it could.
    """

    shown: Counter[str]
    children: list[Child] = field(default_factory=list)
    edits: dict[str, Edit] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)
    conversations: set[str] = field(default_factory=set)
    problem: str | None = None

    @property
    def why_none(self) -> str:
        """Why nothing was written, in words."""
        if self.problem is not None:
            return self.problem
        reasons = " ".join(dict.fromkeys(one["reason"] for one in self.refused))
        if reasons:
            return storable_line(f"No edit of the model could be tested. {reasons}", REASON_CHARS)
        return "The model wrote no edits."


@dataclass(slots=True)
class _Shown:
    """Conversations as one request shows them, by the name that it gives them."""

    conversations: list[ShownConversation]
    seen: dict[str, Seen]
    texts: dict[str, str]
    strangers: list[str]


class Reflection:
    """Writes the candidates of one optimization.

    Parameters
    ----------
    run
        The run; its tasks write, and its owner's words may be used.
    said
        Words of the logged conversations, where they are known already.
    """

    def __init__(self, run: OptimizationRun, said: LoggedWords | None = None) -> None:
        self._run = run
        self._row = run.optimization
        self._intent: dict[str, Any] = {} if self._row.intent is None else orjson.loads(self._row.intent)
        self._own = owners_words(run.prompt, self._intent, run.general)
        self._exclusions = read_exclusions(run.exclusions)
        self._logged: list[Seen] | None = None
        self._words = said

    def write(self, search: Search, step: Write, shown: Mapping[str, int]) -> Written:
        """Write the candidates of a step: a chain, in which each has the edits of the one before and those of its own.

        Raises
        ------
        LlmUnavailable, LlmRefused
            The model cannot be asked anything. Where it only does not take this request, or answers it with something else,
            ``problem`` says so.
        """
        written = Written(Counter(shown), list(step.given))
        edits = [search.edits[one] for one in search.members[step.parent].edits]
        seen = [*self._logged_ones(), *self._simulated()]
        said = [self._logged_words(), self._simulated_words(search)]
        for _ in range(step.children):
            before = {one.id for one in edits}
            try:
                edits = self._reflect(search, seen, said, edits, written)
            except (LlmBadAnswer, LlmRefused) as error:
                if is_hopeless(error):
                    raise
                # Asked again, it would answer the same.
                written.problem = storable_line(
                    f"The model could not be asked for edits: {error}", REASON_CHARS
                )
                break
            if {one.id for one in edits} != before:
                ids = tuple(sorted((one.id for one in edits), key=lambda name: int(name[1:])))
                written.children.append(Child(step.parent, ids))
        return written

    def _reflect(
        self,
        search: Search,
        seen: Sequence[Seen],
        said: Sequence[LoggedWords],
        edits: list[Edit],
        written: Written,
    ) -> list[Edit]:
        number = _last(search, written)
        seed = f"{self._row.seed} reflection {search.generation} {sum(written.shown.values())}"
        chosen = choose(seen, edits=edits, edits_of=search.edits_of, shown=written.shown, seed=seed)
        shown = self._shown(chosen)
        if not any(one.failed for one in shown.seen.values()):
            return edits
        written.shown.update(one.key for one in chosen if one.failed)
        written.conversations.update(one.id for one in chosen if one.candidate is None)
        request = EditsRequest(
            prompt=replace(self._run.prompt, content=assemble(self._run.prompt.content, edits)),
            conversations=shown.conversations,
            edits=[(one.symptom, one.text) for one in edits],
            intent=self._intent,
            general=self._run.general,
            problems=[one["reason"] for one in written.refused],
            seed=self._row.seed + number,
        )
        answer = self._run.tasks.write_edits(request)
        for draft in answer.edits:
            number += 1
            new = self._edit(f"e{number}", draft, shown, said)
            joined = join(self._run.prompt.content, edits, new)
            problem = joined.problem or self._problem(new, joined.edits, shown, said, mark=answer.mark)
            if problem is None:
                edits = list(joined.edits)
                written.edits |= {one.id: one for one in edits}
            else:
                reason = storable_line(problem, REASON_CHARS)
                refused = {**new.to_json(), "reason": reason, "child": len(written.children)}
                written.refused.append(refused)
        return edits

    def _edit(self, name: str, draft: EditDraft, shown: _Shown, said: Sequence[LoggedWords]) -> Edit:
        evidence = guards.existing_evidence(draft.evidence, shown.texts)
        issues = [title for one, _ in evidence for title in shown.seen[one].wrong[:1]]

        def line(text: str) -> str:
            for words in said:
                text = words.masked(text)
            return storable_line(self._exclusions.clean(text), LINE_CHARS)

        return Edit(
            id=name,
            operation=draft.operation.strip().lower(),
            anchor=storable_text(draft.anchor),
            text=storable_text(draft.text),
            symptom=line(draft.symptom),
            cause=line(draft.cause),
            evidence=tuple((shown.seen[one].id, quote) for one, quote in evidence),
            issues=tuple(dict.fromkeys(issues)),
        )

    def _problem(
        self,
        new: Edit,
        joined: Sequence[Edit],
        shown: _Shown,
        said: Sequence[LoggedWords],
        *,
        mark: str | None,
    ) -> str | None:
        """Return why an edit may not be tested; ``None`` when it may."""
        original = self._run.prompt.content
        text = assemble(original, joined)
        # Where it improves on an earlier edit, it is both.
        new = next((one for one in joined if one.id == new.id), new)
        return next(
            chain(
                self._untold(new, shown),
                # Also what stands on both sides of the seam; an assistant may have said the prompt's own sentences.
                (found for words in said for found in words.repeated(new.text).problems()),
                self._logged_words().repeated(text).problems(),
                (f"It brings in an address: {one}." for one in guards.new_addresses(new.text, original)),
                (
                    "It brings in data or topics that the organization excludes."
                    for _ in self._exclusions.new_in(new.text, "\n".join(self._own))
                ),
                problems_of(text, original=original, others=(), mark=mark) if text != original else (),
            ),
            None,
        )

    @staticmethod
    def _untold(new: Edit, shown: _Shown) -> Iterator[str]:
        """Return what is wrong with an edit as a lesson from conversations."""
        if not new.evidence:
            yield "What it says of the conversations does not stand in them."
        if guards.too_long(new.text):
            yield f"It is too long for one edit: at most {guards.EDIT_CHARS} characters."
        if guards.says_what_was_said(new.text, shown.strangers):
            yield "It says what somebody said in a conversation."

    # What is there to be shown

    def _logged_ones(self) -> list[Seen]:
        if self._logged is None:
            row = self._row
            with self._run.database.read() as connection:
                found = optimizations.judged(connection, row.account_id, row.prompt_id, before=row.created_at)
                # Whether they met targets was not asked.
                missed = self._run.goal.of_completion
                self._logged = [
                    Seen(one.id, bool(one.task_completed), self._titles(one.document), missed=missed)
                    for one in found
                ]
        return self._logged

    def _titles(self, document: str) -> tuple[str, ...]:
        titles = [issue["title"] for issue in orjson.loads(document).get("issues") or []]
        return tuple(title for title in titles if not self._exclusions.found_in(title))

    def _simulated(self) -> list[Seen]:
        with self._run.database.read() as connection:
            found = simulations.of_stage(connection, self._row.id, "screen")
        return [self._seen_of(one) for one in found if one.task_completed is not None]

    def _seen_of(self, row: AnyRow) -> Seen:
        """Return a simulated conversation as it may be shown."""
        goal = self._run.goal
        reached = goal.score(row)
        return Seen(
            row.id,
            bool(row.task_completed),
            tuple(orjson.loads(row.issues or "[]")),
            row.arm,
            goal.unmet(row, self._run.targets),
            goal.of_completion if reached is None else 1.0 - reached,
        )

    def _logged_words(self) -> LoggedWords:
        if self._words is None:
            row = self._row
            with self._run.database.read() as connection:
                contents = optimizations.transcripts(
                    connection, row.account_id, row.prompt_id, before=row.created_at
                )
                self._words = LoggedWords(
                    self._own, (content.decode("utf-8", "replace") for content in contents)
                )
        return self._words

    def _simulated_words(self, search: Search) -> LoggedWords:
        """Return the words of simulated conversations; an assistant may repeat its own edits."""
        own = [*self._own, *(one.text for one in search.edits.values())]
        with self._run.database.read() as connection:
            contents = simulations.contents_of_stage(connection, self._row.id, "screen")
        return LoggedWords(own, (content.decode("utf-8", "replace") for content in contents if content))

    def _shown(self, chosen: Sequence[Seen]) -> _Shown:
        shown = _Shown([], {}, {}, [])
        share = CHARS_MOST // max(len(chosen), 1)
        for number, one in enumerate(chosen, start=1):
            content = self._content(one)
            try:
                messages = parse_content(content).messages
            except TranscriptError:
                continue
            said = [
                (message.role, self._exclusions.clean(message.content))
                for message in messages
                if message.role != "system" and message.content
            ]
            if not said:
                continue
            name = f"c{number}"
            turns, cut = bounded_turns(said, chars=share)
            shown.conversations.append(
                ShownConversation(name, one.completed, one.issues, turns, cut, one.unmet)
            )
            shown.seen[name] = one
            shown.texts[name] = "\n".join(text for _, text in turns)
            shown.strangers += [text for role, text in turns if role != "assistant"]
        return shown

    def _content(self, one: Seen) -> str:
        with self._run.database.read() as connection:
            if one.candidate is None:
                found = conversations.find(connection, self._row.account_id, one.id)
                content = None if found is None else found.content
            else:
                content = simulations.content(connection, self._row.id, one.id)
        return "" if content is None else content.decode("utf-8", "replace")


def _last(search: Search, written: Written) -> int:
    """Return the number of the last edit that was written, a refused one perhaps."""
    kept = [one.number for one in (*search.edits.values(), *written.edits.values())]
    refused = [int(one["id"][1:]) for one in written.refused]
    return max([0, *kept, *refused])
