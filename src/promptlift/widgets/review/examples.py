"""The simulated conversations of a review in pairs: personas, scenarios, outcomes and both transcripts."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.display.turn import Turn
from promptlift.errors import TranscriptError
from promptlift.schema.inert import one_line
from promptlift.schema.transcript import parse_content
from promptlift.widgets.review.reading import records

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.workspace import Workspace

    Row = dict[str, Any]

__all__ = ["OUTCOMES", "Examples", "Pair", "pair_state"]

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

    def listing(self, variant_id: str, *, stage: str, outcome: str, persona: str, scenario: str) -> Row:
        """Return what the front end lists of one stage: counts by outcome, persona and scenario, and the first pairs."""
        pairs = self.pairs(variant_id, stage)
        matching = [pair for pair in pairs if pair.matches(outcome, persona, scenario)]
        counts = {name: sum(pair.matches(name, persona, scenario) for pair in pairs) for name in OUTCOMES}
        return {
            "variant": variant_id,
            "stage": pairs[0].stage if pairs else "",
            "stages": [[one, _STAGES.get(one, one)] for one in self.stages(variant_id)],
            "outcome": outcome,
            "persona": persona,
            "scenario": scenario,
            "total": len(pairs),
            "found": len(matching),
            "outcomes": [[name, words, counts[name]] for name, words in OUTCOMES.items()],
            "personas": _counted(pair.persona for pair in pairs if pair.matches(outcome, "", scenario)),
            "scenarios": _counted(pair.scenario for pair in pairs if pair.matches(outcome, persona, "")),
            "pairs": [
                {
                    "cell": pair.cell,
                    "stage": pair.stage,
                    "persona": pair.persona,
                    "scenario": pair.scenario,
                    "outcome": OUTCOMES.get(pair.outcome, "a conversation was lost to an error"),
                }
                for pair in matching[:_SHOWN]
            ],
        }

    def open(self, variant_id: str, stage: str, cell: int) -> Row | None:
        """Return both transcripts of a pair; None when there is no such pair."""
        pairs = self._all_pairs(variant_id)
        pair = next((one for one in pairs if (one.stage, one.cell) == (stage, cell)), None)
        if pair is None:
            return None
        return {
            "cell": cell,
            "stage": stage,
            "persona": pair.persona,
            "scenario": pair.scenario,
            "goal": pair.goal,
            "outcome": OUTCOMES.get(pair.outcome, "a conversation was lost to an error"),
            "sides": [self._side("original", pair.original), self._side("variant", pair.variant)],
        }

    def _side(self, who: str, row: Row) -> Row:
        completed = {True: "completed", False: "not completed"}.get(row["task_completed"], "lost to an error")
        turns, problem = self._turns(row)
        return {"who": who, "completed": completed, "turns": turns, "problem": problem}

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


def pair_state(pair: Row) -> Row:
    """Return an opened pair as the front end reads it."""
    sides = [{**side, "turns": [asdict(turn) for turn in side["turns"]]} for side in pair["sides"]]
    return {**pair, "sides": sides}


def _counted(names: Any) -> list[list[Any]]:
    return [[name, count] for name, count in Counter(names).most_common()]
