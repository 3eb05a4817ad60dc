"""The simulated conversations of a review in pairs: personas, scenarios, outcomes and both transcripts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.display.turn import Turn
from promptlift.errors import TranscriptError
from promptlift.schema.inert import one_line
from promptlift.schema.transcript import parse_content
from promptlift.widgets.review.reading import records
from promptlift.widgets.tree import badge, field, h, pick, transcript
from promptlift.widgets.tree_widget import push

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from promptlift.display.static_html import Tone
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.workspace import Workspace

    Row = dict[str, Any]

__all__ = ["OUTCOMES", "Examples", "Opened", "Pair"]

_STAGES: Final = {
    "confirm": "confirmation",
    "verify": "verification",
    "screen": "screening",
    "regression": "regression test",
}

OUTCOMES: Final = {
    "disagree": "outcomes differ",
    "gained": "only the variant completed",
    "lost": "only the original completed",
    "both": "both completed",
    "neither": "neither completed",
}
_COMPLETED: Final[dict[Any, tuple[str, Tone]]] = {
    True: ("completed", "good"),
    False: ("not completed", "bad"),
}
_SHOWN: Final = 60
_TURNS: Final = 60
_TURN_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Pair:
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
        """Which side completed the task: a key of ``OUTCOMES``, or empty when a conversation was lost to an error."""
        sides = (self.variant["task_completed"], self.original["task_completed"])
        known = {
            (True, False): "gained",
            (False, True): "lost",
            (True, True): "both",
            (False, False): "neither",
        }
        return known.get(sides, "")

    def matches(self, outcome: str, persona: str, scenario: str) -> bool:
        """Return whether the pair matches the filters; an empty filter matches every pair."""
        wanted = {"disagree": ("gained", "lost"), "": ("", *OUTCOMES)}.get(outcome, (outcome,))
        return self.outcome in wanted and persona in ("", self.persona) and scenario in ("", self.scenario)

    def button(self, *, here: bool) -> Node:
        """Return the button that opens it."""
        words = [f"{self.persona} · {self.scenario}", h("span.plw-soft", f" {self.outcome_in_words}")]
        pressed = "true" if here else "false"
        return push(words, "pair", ".plw-pair", stage=self.stage, cell=self.cell, aria_pressed=pressed)

    @property
    def outcome_in_words(self) -> str:
        """Its outcome as shown."""
        return OUTCOMES.get(self.outcome, "a conversation was lost to an error")


@dataclass(frozen=True, slots=True)
class Opened:
    """A pair with its transcripts: messages, or why there are none."""

    pair: Pair
    original: tuple[list[Turn], str]
    variant: tuple[list[Turn], str]

    def node(self, name: str) -> Node:
        """Return both conversations next to each other."""
        sides = [("Original", self.pair.original, self.original), (name, self.pair.variant, self.variant)]
        goal = self.pair.goal and f" · Goal: {self.pair.goal}"
        return h(
            "div.plw-opened-pair",
            h("p.plw-foreign", h("b", self.pair.persona), f" · {self.pair.scenario}{goal}"),
            h("div.plw-sides", [_side(*side) for side in sides]),
        )


def _side(name: str, row: Row, said: tuple[list[Turn], str]) -> Node:
    turns, problem = said
    words, tone = _COMPLETED.get(row["task_completed"], ("lost to an error", "plain"))
    return h(
        "div.plw-side",
        h("div.plw-foreign", h("b", name), " ", badge(words, tone)),
        transcript(turns),
        problem and h("p.plw-soft.plw-foreign", problem),
    )


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
        self._lift = lift
        self._id = optimization_id
        self.available = table is not None
        self._rows: list[Row] = [] if table is None else records(table)
        self._offset: dict[str, int] = {}
        self._pairs: dict[str, list[Pair]] = {}
        counts: Counter[str] = Counter()
        for row in self._rows:
            self._offset[row["simulation_id"]] = counts[row["variant_id"]]
            counts[row["variant_id"]] += 1

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
            self._pairs[variant_id] = self._pairs_of(variant_id)
        return self._pairs[variant_id]

    def _pairs_of(self, variant_id: str) -> list[Pair]:
        originals = {(row["stage"], row["cell"]): row for row in self._rows if row["is_original"]}
        pairs = []
        for row in self._rows:
            other = originals.get((row["stage"], row["cell"]))
            if row["variant_id"] == variant_id and not row["is_original"] and other is not None:
                pairs.append(
                    Pair(
                        int(row["cell"]),
                        row["stage"] or "",
                        one_line(row["persona"] or "no persona", 80),
                        one_line(row["scenario"] or "no title", 120),
                        one_line(row["goal"] or "", 300),
                        other,
                        row,
                    )
                )
        return sorted(pairs, key=lambda pair: pair.cell)

    def filters(self, variant_id: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return filters as far as they make sense for a variant; by default where the outcomes differ, if they do anywhere."""
        pairs = self.pairs(variant_id, given.get("stage", ""))
        differ = "disagree" if any(pair.matches("disagree", "", "") for pair in pairs) else ""
        outcome = given.get("outcome", differ)
        return {
            "stage": pairs[0].stage if pairs else "",
            "outcome": outcome if outcome in OUTCOMES else "",
            "persona": given.get("persona", ""),
            "scenario": given.get("scenario", ""),
        }

    def listing(self, variant_id: str, name: str, filters: Mapping[str, str], opened: Opened | None) -> Nodes:
        """Return the pairs of one stage that match, with what they can be filtered by."""
        stage, outcome, persona, scenario = (
            filters[one] for one in ("stage", "outcome", "persona", "scenario")
        )
        pairs = self.pairs(variant_id, stage)
        matching = [pair for pair in pairs if pair.matches(outcome, persona, scenario)]
        counts = {one: sum(pair.matches(one, persona, scenario) for pair in pairs) for one in OUTCOMES}
        choices = {
            "Stage": [(one, _STAGES.get(one, one)) for one in self.stages(variant_id)],
            "Outcome": [
                ("", "all outcomes"),
                *((one, f"{words} ({counts[one]:,})") for one, words in OUTCOMES.items()),
            ],
            "Persona": [
                ("", "all personas"),
                *_counted(pair.persona for pair in pairs if pair.matches(outcome, "", scenario)),
            ],
            "Scenario": [
                ("", "all scenarios"),
                *_counted(pair.scenario for pair in pairs if pair.matches(outcome, persona, "")),
            ],
        }
        picks = [
            field(
                words,
                pick(words.lower(), found, filters[words.lower()], action="examples", variant=variant_id),
            )
            for words, found in choices.items()
        ]
        count = h("span.plw-soft", f"{len(matching):,} of {len(pairs):,} pairs", role="status")
        rows = [pair.button(here=opened is not None and opened.pair == pair) for pair in matching[:_SHOWN]]
        more = len(matching) > _SHOWN and h("span.plw-soft", f"Showing the first {_SHOWN}.")
        return [
            h("div.plw-heading", "Simulated conversations of ", h("span.plw-foreign", name)),
            h("div.plw-bar", picks, count, form=True),
            h("div.plw-pairs", rows, more),
            *([] if opened is None else [opened.node(name)]),
        ]

    def open(self, variant_id: str, stage: str, cell: int) -> Opened | None:
        """Return a pair with both transcripts; None when there is no such pair."""
        pairs = self._all_pairs(variant_id)
        pair = next((one for one in pairs if (one.stage, one.cell) == (stage, cell)), None)
        if pair is None:
            return None
        return Opened(pair, self._turns(pair.original), self._turns(pair.variant))

    def _turns(self, row: Row) -> tuple[list[Turn], str]:
        content = self._content(row)
        if not content:
            return [], one_line(row["error"] or "The service has no transcript of this conversation.", 400)
        try:
            messages = parse_content(content).messages
        except TranscriptError as error:
            return [], one_line(f"The transcript cannot be read: {error}", 400)
        turns = [Turn.of(message, _TURN_CHARS) for message in messages[:_TURNS]]
        left = len(messages) - len(turns)
        return turns, f"… {left:,} more messages" if left else ""

    def _content(self, row: Row) -> str | None:
        """Read one transcript; the service lists them in the order of the table."""
        page = self._lift.client.optimizations.simulations(
            self._id,
            variant_id=row["variant_id"],
            include_content=True,
            limit=1,
            offset=self._offset[row["simulation_id"]],
        )
        found = next((one for one in page.data if one.id == row["simulation_id"]), None)
        if found is not None:
            return found.content
        # The list has grown since the table was read: search all of it.
        table = self._lift.optimizations[self._id].simulations(variant_id=row["variant_id"], content=True)
        kept = table.loc[table["simulation_id"] == row["simulation_id"], "content"].dropna()
        return None if kept.empty else str(kept.iloc[0])


def _counted(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, f"{name} ({count:,})") for name, count in Counter(names).most_common()]
