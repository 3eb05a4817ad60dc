"""The simulated conversations of a review in pairs: personas, scenarios, outcomes and both transcripts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.schema.inert import one_line
from promptlift.widgets.browser.catalogue import turns_of
from promptlift.widgets.review.reading import records
from promptlift.widgets.tree import badge, field, fold, h, pick, transcript
from promptlift.widgets.tree_widget import push

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from promptlift.display.static_html import Tone
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.workspace import Workspace

    Row = dict[str, Any]

__all__ = ["Examples", "Opened", "Pair"]

_STAGES: Final = {
    "confirm": "confirmation",
    "verify": "verification",
    "screen": "screening",
    "regression": "regression test",
}
_OUTCOMES: Final = {
    "disagree": "outcomes differ",
    "gained": "only the variant completed",
    "lost": "only the original completed",
    "both": "both completed",
    "neither": "neither completed",
}
_OUTCOME_OF: Final = {
    (True, False): "gained",
    (False, True): "lost",
    (True, True): "both",
    (False, False): "neither",
}
_COMPLETED: Final[dict[Any, tuple[str, Tone]]] = {
    True: ("completed", "good"),
    False: ("not completed", "bad"),
}
_SHOWN: Final = 60
_TURNS: Final = 60
_TURN_CHARS: Final = 4_000


class Pair(NamedTuple):
    """The original and a variant in the same situation."""

    cell: int
    stage: str
    persona: str
    scenario: str
    goal: str
    original: Row
    variant: Row

    @property
    def outcome(self) -> str:
        """Which side completed the task; empty when a conversation was lost to an error."""
        return _OUTCOME_OF.get((self.variant["task_completed"], self.original["task_completed"]), "")

    @property
    def outcome_in_words(self) -> str:
        """Its outcome as shown."""
        return _OUTCOMES.get(self.outcome, "a conversation was lost to an error")

    def matches(self, outcome: str, persona: str = "", scenario: str = "") -> bool:
        """Return whether the pair matches the filters; an empty filter matches every pair."""
        wanted = {"disagree": ("gained", "lost"), "": ("", *_OUTCOMES)}.get(outcome, (outcome,))
        return self.outcome in wanted and persona in ("", self.persona) and scenario in ("", self.scenario)


class Opened(NamedTuple):
    """A pair with both transcripts."""

    pair: Pair
    original: Nodes
    variant: Nodes

    def node(self, name: str) -> Node:
        """Return both conversations next to each other."""
        pair = self.pair
        sides = (("Original", pair.original, self.original), (name, pair.variant, self.variant))
        shown = []
        for title, row, said in sides:
            words, tone = _COMPLETED.get(row["task_completed"], ("lost to an error", "plain"))
            head = h("div.plw-foreign", h("b", title), " ", badge(words, tone))
            shown.append(h("div.plw-side", head, said))
        goal = pair.goal and f" · Goal: {pair.goal}"
        about = h("p.plw-foreign", h("b", pair.persona), f" · {pair.scenario}{goal}")
        return h("div.plw-opened-pair", about, h("div.plw-sides", shown))


class Examples:
    """Pairs of simulated conversations. Transcripts are read when a pair is opened.

    Parameters
    ----------
    lift
        The workspace to read transcripts from.
    optimization_id
        The optimization.
    table
        ``run.simulations()``, without content; None where the service has none.
    """

    def __init__(self, lift: Workspace, optimization_id: str, table: pd.DataFrame | None) -> None:
        self._lift, self._id = lift, optimization_id
        self.available = table is not None
        self._rows: list[Row] = [] if table is None else records(table)
        self._pairs: dict[str, list[Pair]] = {}

    def stages(self, variant_id: str) -> list[str]:
        """Return the stages in which a variant has pairs, the confirmation first."""
        found = {pair.stage for pair in self._all_pairs(variant_id)}
        return [stage for stage in _STAGES if stage in found] + sorted(found - _STAGES.keys())

    def pairs(self, variant_id: str, stage: str = "") -> list[Pair]:
        """Return the pairs of a variant in one stage, by default its first: conversations of two stages never count together."""
        stages = self.stages(variant_id)
        wanted = stage if stage in stages else next(iter(stages), "")
        return [pair for pair in self._all_pairs(variant_id) if pair.stage == wanted]

    def _all_pairs(self, variant_id: str) -> list[Pair]:
        if variant_id not in self._pairs:
            originals = {(row["stage"], row["cell"]): row for row in self._rows if row["is_original"]}
            pairs = [
                Pair(
                    int(row["cell"]),
                    row["stage"] or "",
                    one_line(row["persona"] or "no persona", 80),
                    one_line(row["scenario"] or "no title", 120),
                    one_line(row["goal"] or "", 300),
                    originals[row["stage"], row["cell"]],
                    row,
                )
                for row in self._rows
                if row["variant_id"] == variant_id
                and not row["is_original"]
                and (row["stage"], row["cell"]) in originals
            ]
            self._pairs[variant_id] = sorted(pairs, key=lambda pair: pair.cell)
        return self._pairs[variant_id]

    def filters(self, variant_id: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return filters as far as they make sense for a variant; by default where the outcomes differ, if they do anywhere."""
        pairs = self.pairs(variant_id, given.get("stage", ""))
        differ = "disagree" if any(pair.matches("disagree") for pair in pairs) else ""
        outcome = given.get("outcome", differ)
        return {
            "stage": pairs[0].stage if pairs else "",
            "outcome": outcome if outcome in _OUTCOMES else "",
            "persona": given.get("persona", ""),
            "scenario": given.get("scenario", ""),
        }

    def example(self, variant_id: str, filters: Mapping[str, str]) -> Opened | None:
        """Return the first pair that is listed; None when none is.

        Raises
        ------
        PromptliftError
            When its transcripts cannot be read.
        """
        pair = next(iter(self._matching(variant_id, filters)), None)
        return pair and self.open(variant_id, pair.stage, pair.cell)

    def _matching(self, variant_id: str, filters: Mapping[str, str]) -> list[Pair]:
        stage, *wanted = filters.values()
        return [pair for pair in self.pairs(variant_id, stage) if pair.matches(*wanted)]

    def listing(self, variant_id: str, name: str, filters: Mapping[str, str], opened: Opened | None) -> Nodes:
        """Return the pairs of one stage that match, with what they can be filtered by."""
        stage, outcome, persona, scenario = filters.values()
        pairs = self.pairs(variant_id, stage)
        matching = self._matching(variant_id, filters)
        outcomes = [
            (one, f"{words} ({sum(pair.matches(one, persona, scenario) for pair in pairs):,})")
            for one, words in _OUTCOMES.items()
        ]
        personas = _counted(pair.persona for pair in pairs if pair.matches(outcome, "", scenario))
        scenarios = _counted(pair.scenario for pair in pairs if pair.matches(outcome, persona))
        choices = {
            "Stage": [(one, _STAGES.get(one, one)) for one in self.stages(variant_id)],
            "Outcome": [("", "all outcomes"), *outcomes],
            "Persona": [("", "all personas"), *personas],
            "Scenario": [("", "all scenarios"), *scenarios],
        }
        picks = [
            field(
                words,
                pick(words.lower(), found, filters[words.lower()], action="examples", variant=variant_id),
            )
            for words, found in choices.items()
        ]
        rows = [
            push(
                [f"{pair.persona} · {pair.scenario}", h("span.plw-soft", f" {pair.outcome_in_words}")],
                "pair",
                ".plw-pair",
                stage=pair.stage,
                cell=pair.cell,
                aria_pressed=opened is not None and opened.pair == pair,
            )
            for pair in matching[:_SHOWN]
        ]
        count = h("span.plw-soft", f"{len(matching):,} of {len(pairs):,} pairs", role="status")
        more = len(matching) > _SHOWN and h("span.plw-soft", f"Showing the first {_SHOWN}.")
        title = ["Simulated conversations of ", h("span.plw-foreign", name)]
        inside = [h("div.plw-bar", picks, count, form=True), h("div.plw-pairs", rows, more)]
        return [fold(title, inside, opened and opened.node(name))]

    def open(self, variant_id: str, stage: str, cell: int) -> Opened | None:
        """Return a pair with both transcripts; None when there is no such pair."""
        pairs = (one for one in self._all_pairs(variant_id) if (one.stage, one.cell) == (stage, cell))
        pair = next(pairs, None)
        return None if pair is None else Opened(pair, self._said(pair.original), self._said(pair.variant))

    def _said(self, row: Row) -> Nodes:
        # The service lists them in the order of the table.
        alike = [one["simulation_id"] for one in self._rows if one["variant_id"] == row["variant_id"]]
        page = self._lift.client.optimizations.simulations(
            self._id,
            variant_id=row["variant_id"],
            include_content=True,
            limit=1,
            offset=alike.index(row["simulation_id"]),
        )
        content = next((one.content for one in page.data if one.id == row["simulation_id"]), None)
        turns, problem = turns_of(content, _TURN_CHARS)
        if not content and row["error"]:
            problem = one_line(row["error"], 400)
        left = len(turns) - _TURNS
        return [
            *transcript(turns[:_TURNS]),
            *([h("p.plw-soft.plw-foreign", problem)] if problem else []),
            *([h("p.plw-soft", f"… {left:,} more messages")] if left > 0 else []),
        ]


def _counted(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, f"{name} ({count:,})") for name, count in Counter(names).most_common()]
