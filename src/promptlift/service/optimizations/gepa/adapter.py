"""The seam to the package GEPA: what it needs to know of the service, in its own words. Imported only where it is installed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from gepa.api import optimize as gepa_optimize
from gepa.core.adapter import EvaluationBatch
from gepa.strategies.instruction_proposal import InstructionProposalSignature

from promptlift.service.optimizations.gepa.pool import MINIBATCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptlift.service.optimizations.gepa.run import GepaSearching
    from promptlift.service.optimizations.tasks import ShownConversation

__all__ = ["Halted", "optimize"]

COMPONENT: Final = "prompt"
SETTLED: Final = "The assistant did what the person came for."
OPEN: Final = "The assistant did not do what the person came for."
UNMET: Final = "Its owner wants this too, and it is not there: {target}"


class Halted(BaseException):
    """The run must not go on. GEPA goes on after an ``Exception`` in a reflection, and asks again.

    Attributes
    ----------
    reason
        What was raised within the service.
    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@contextmanager
def _halting() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise Halted(error) from error


def optimize(search: GepaSearching, *, content: str, trained: int, validated: int, seed: int) -> None:
    """Run GEPA with its defaults. Its examples are numbers: the service knows the cell of each.

    Parameters
    ----------
    trained, validated
        Examples to learn from, and to score accepted candidates on. The latter have the numbers from 0.

    Raises
    ------
    Halted
        The service could not go on.
    """

    def rewrite(asked: str) -> str:
        with _halting():
            return f"```\n{search.propose(asked, extract)}\n```"

    gepa_optimize(
        seed_candidate={COMPONENT: content},
        trainset=list(range(validated, validated + trained)),
        valset=list(range(validated)),
        adapter=_Adapter(search),  # type: ignore[arg-type, unused-ignore]  # optional methods are left out
        reflection_lm=rewrite,  # type: ignore[arg-type, unused-ignore]  # it is asked with text only
        reflection_minibatch_size=MINIBATCH,
        stop_callbacks=lambda state: not search.may_go_on(state.i + 1, 2 * MINIBATCH + validated),
        callbacks=[_Events(search)],  # type: ignore[list-item, unused-ignore]  # optional methods are left out
        logger=_Silent(),
        seed=seed,
    )


def extract(answer: str) -> str:
    """Find the text in an answer, as GEPA does."""
    return str(InstructionProposalSignature.output_extractor(answer.strip())["new_instruction"])


class _Silent:
    def log(self, message: str) -> None:
        """Drop the message: GEPA logs whole prompts."""


class _Adapter:
    """Scores of conversations, and the conversations themselves."""

    propose_new_texts = None

    def __init__(self, search: GepaSearching) -> None:
        self._search = search

    def evaluate(
        self,
        batch: list[int],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002 - GEPA's own signature
    ) -> EvaluationBatch[int, bool | None]:
        """Hold the conversations of a batch, as far as they were not held before."""
        with _halting():
            held = self._search.play(candidate[COMPONENT], batch)
            scores = self._search.scores(candidate[COMPONENT], batch)
        return EvaluationBatch(
            outputs=held or [None for _ in batch],
            scores=scores,
            trajectories=list(batch) if capture_traces else None,
        )

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[int, bool | None],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Show the conversations with what the judge says of them."""
        with _halting():
            shown = self._search.learn_from(candidate[COMPONENT], eval_batch.trajectories or [])
        return {component: [_example(one) for one in shown] for component in components_to_update}


def _example(shown: ShownConversation) -> dict[str, str]:
    (_, opening), *others = shown.turns
    judged = SETTLED if shown.completed else " ".join([OPEN, *(f"{title}." for title in shown.issues)])
    judged = " ".join([judged, *(UNMET.format(target=target) for target in shown.unmet)])
    said = "\n".join(f"{role}: {text}" for role, text in others)
    return {"Inputs": opening, "Generated Outputs": said, "Feedback": judged}


class _Events:
    """Passes on what GEPA decides."""

    def __init__(self, search: GepaSearching) -> None:
        self._search = search

    def on_valset_evaluated(self, event: Mapping[str, Any]) -> None:
        """Note that a candidate was accepted, and scored."""
        self._search.accepted(event["candidate"][COMPONENT])

    def on_candidate_rejected(self, event: Mapping[str, Any]) -> None:
        """Note that the last candidate was not better than the one that it was made from."""
        del event
        self._search.rejected()
