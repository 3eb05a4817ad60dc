"""A random draw that is labelled blind: what is drawn, what is shown of it, and how wide the interval is by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, facts_of, names_of
from promptlift.errors import ConfigError, NotFound
from promptlift.stats.labels import LabelledGroup, corrected_rate, too_few_labels
from promptlift.widgets.browser.catalogue import MESSAGE_CHARS, Catalogue, Row, turns_of
from promptlift.widgets.browser.search import Query
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.display.turn import Turn

__all__ = ["BlindCatalogue", "Plan", "is_plan"]

_KEY: Final = "conversation_id"
_COLUMNS: Final = frozenset((_KEY, "question", "chance"))
_SHOWN_ROLES: Final = frozenset(("user", "assistant", "tool"))
_NO_TRANSCRIPT: Final = (
    "No transcript: draw from a table with content=True, or pass labels=lift, which reads it."
)


def is_plan(table: Any) -> bool:
    """Return whether a table is a draw of conversations to label, as ``analysis.label_plan`` makes it."""
    present = set(names_of(table))
    return present >= _COLUMNS and "value" not in present


class Plan:
    """A draw of conversations to label.

    Parameters
    ----------
    table
        As ``analysis.label_plan`` returns it.

    Raises
    ------
    ConfigError
        When it has several questions, or a conversation twice.
    """

    def __init__(self, table: Any) -> None:
        present = names_of(table)
        wanted = [name for name in (*sorted(_COLUMNS), "draw_id", "content") if name in present]
        frame = collect(table, wanted).reset_index(drop=True)
        questions = [str(one) for one in frame["question"].dropna().unique()]
        if len(questions) != 1:
            raise ConfigError(
                f"A plan asks one question, and this one has {len(questions)}. Label one plan at a time."
            )
        self.question = questions[0]
        self.ids = [str(one) for one in frame[_KEY]]
        if len(set(self.ids)) < len(self.ids):
            raise ConfigError(
                "A conversation is in the plan more than once. Draw again with analysis.label_plan."
            )
        self.chances = dict(zip(self.ids, map(float, frame["chance"]), strict=True))
        draws = zip(self.ids, frame.get("draw_id", [None] * len(frame)), strict=True)
        self.draws = {one: str(draw) for one, draw in draws if not is_missing(draw)}
        self.contents = frame.get("content")
        facts = facts_of(table)
        # What the judge says of each, as counts and the stratum of each row: never sent to the browser.
        self._strata: list[dict[str, Any]] = list(facts.get("strata", ()))
        self._stratum_of: Mapping[str, int] = facts.get("stratum_of", {})

    @property
    def draw_id(self) -> str | None:
        """The draw; None where the rows are of several or of none that is known."""
        known = set(self.draws.values())
        return next(iter(known)) if len(known) == 1 and len(self.draws) == len(self.ids) else None

    def drawn(self, conversation_id: str) -> dict[str, Any]:
        """Return with which chance a conversation was drawn, and in which draw."""
        return {"chance": self.chances.get(conversation_id), "draw_id": self.draws.get(conversation_id)}

    def progress(self, answers: Mapping[str, bool]) -> str:
        """Return in words how wide the interval is with the answers so far.

        Of several groups it is that of the widest, and which one that is stays unsaid.
        """
        places: dict[Any, list[int]] = {}
        for place, stratum in enumerate(self._strata):
            places.setdefault(stratum["group"], []).append(place)
        groups = [self._group(mine, answers) for mine in places.values()]
        if not groups:
            return ""
        short = [said for one in groups if (said := too_few_labels(one))]
        if short:
            of = f" ({len(short)} of {len(groups)} groups)" if len(groups) > 1 else ""
            return f"No interval yet{of}: {short[0].partition(': ')[2].partition('. Draw')[0]}"
        rates = [corrected_rate(one) for one in groups]
        widths = [(one.high - one.low) / 2 for one in rates if one.low is not None and one.high is not None]
        each = "each rate" if len(groups) > 1 else "the rate"
        return f"{each} is known to ±{100 * max(widths):.1f} points"

    def _group(self, mine: Sequence[int], answers: Mapping[str, bool]) -> LabelledGroup:
        labelled = [one for one in answers if self._stratum_of.get(one) in mine]
        counts = {place: sum(self._stratum_of[one] == place for one in labelled) for place in mine}
        unlabelled = [
            np.full(max(self._strata[place]["n"] - n, 0), float(self._strata[place]["verdict"]))
            for place, n in counts.items()
        ]
        verdicts = [self._strata[self._stratum_of[one]]["verdict"] for one in labelled]
        return LabelledGroup(
            np.array([answers[one] for one in labelled], np.float64),
            np.array(verdicts, np.float64),
            np.concatenate(unlabelled),
            chances=np.array([self.chances[one] for one in labelled], np.float64),
        )


class BlindCatalogue(Catalogue):
    """The conversations of a plan, of which nothing is known but what was said.

    Neither verdicts nor prompt, variant, model or time are in it, and messages of the system are left out: they are the
    prompt. What is not here cannot be sent to the browser.

    Parameters
    ----------
    plan
        The draw.
    lift
        The workspace that reads the transcripts that the plan does not bring; None where there is none.
    """

    names_ids = False

    def __init__(self, plan: Plan, lift: Any = None) -> None:
        frame = pd.DataFrame({_KEY: pd.Series(plan.ids, dtype="str")})
        if plan.contents is not None:
            frame["content"] = plan.contents
        super().__init__(frame, blind=True)
        self._lift = lift
        self._known: dict[int, str | None] = {}

    def find(self, query: Query, among: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """Return the places in the order of the draw; searching is off, because it could reveal the prompt."""
        del query
        return super().find(Query(), among)

    def row(self, place: int) -> Row:
        """Return a row that says nothing but its number."""
        return Row(f"Conversation {place + 1}")

    def facts(self, place: int) -> list[tuple[str, str]]:
        """Return nothing: an id or a time may say which arm a conversation is of."""
        del place
        return []

    def turns(self, place: int, limit: int = MESSAGE_CHARS) -> tuple[list[Turn], str]:
        """Return what user, assistant and tools said, without models and times."""
        content = self._content(place)
        if content is None:
            return [], _NO_TRANSCRIPT
        turns, problem = turns_of(content, limit, shown=_without_facts)
        return turns, problem and "The transcript cannot be read."

    def _content(self, place: int) -> str | None:
        if "content" in self.frame:
            content = self.frame["content"].iloc[place]
            return content if isinstance(content, str) else None
        if place not in self._known and self._lift is not None:
            try:
                self._known[place] = self._lift.conversation(self.ids[place]).content
            except NotFound:
                self._known[place] = None
        return self._known.get(place)


def _without_facts(message: Mapping[str, Any]) -> dict[str, Any] | None:
    shown = message["role"] in _SHOWN_ROLES
    return {"role": message["role"], "content": message["content"]} if shown else None
