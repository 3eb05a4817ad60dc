"""The judge that learns from labels whether conversations of a prompt completed their task."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.schema import endpoints
from promptlift.schema.basis import basis_of_analyser
from promptlift.schema.insights import Insights
from promptlift.schema.judges import (
    LABELS_MIN,
    OUTCOME_LABELS_MIN,
    LearnedDrift,
    LearnedJudge,
    LearnedWeights,
)
from promptlift.schema.model import Done
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.insights.learned import features_of_content
from promptlift.service.store import judging
from promptlift.service.store.tables.prompts import LearnedJudgeRow
from promptlift.stats.learned import CANNOT, accuracy_of, learn, unlike

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptlift.schema.judges import LearnedJudgeCreate
    from promptlift.service.store.judging import ToLearn
    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.stats.learned import Learned

# Learning takes seconds of processor time: one run at a time, and not on the threads that every other request
# needs.
_LEARNING: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="learning")
# Conversations from which the frequency and spread of features are estimated, and the newest of them to
# compare with the labelled ones.
_SAMPLE: Final = 2_000
_NEWEST: Final = 500
_FEWEST_NEWEST: Final = 40
_TO_LABEL: Final = 20
MORE: Final = 20


@dataclass(frozen=True, slots=True)
class _Seen:
    """A conversation as its features, with its earlier verdict."""

    features: Mapping[str, float]
    analyser: str | None
    judged: bool | None


def _seen(rows: Iterable[ToLearn]) -> dict[str, _Seen]:
    found = {}
    for row in rows:
        insights = None if row.document is None else Insights.model_validate_json(row.document)
        features = features_of_content(row.content, insights, row.status)
        found[row.id] = (
            _Seen(features, None, None)
            if insights is None
            else _Seen(features, insights.analyser, insights.first_verdict)
        )
    return found


@answers(endpoints.PROMPTS_LEARN, threads=_LEARNING)
def create(call: Call[LearnedJudgeCreate]) -> LearnedJudge:
    """Learn from labels, store the result as a version, and judge the prompt's conversations by it if it can be told apart from chance."""
    given = {one.conversation_id: one for one in call.body.labels}
    with call.read() as rows:
        call.prompt(rows)
        connection, of = rows.core, (call.account_id, call.id)
        seen = _seen(judging.newest_ended(connection, *of, limit=_SAMPLE))
        seen |= _seen(judging.ended(connection, *of, [one for one in given if one not in seen]))
    usable = [one for one in given if one in seen]
    answers_of = Counter(given[one].completed for one in usable)
    if len(usable) < LABELS_MIN or min(answers_of[True], answers_of[False]) < OUTCOME_LABELS_MIN:
        raise invalid(
            {
                "labels": f"must be at least {LABELS_MIN} of ended conversations of this {call.scheme.name}, at least "
                f"{OUTCOME_LABELS_MIN} of them completed and {OUTCOME_LABELS_MIN} not; these are {answers_of[True]} and "
                f"{answers_of[False]}"
            },
            "Too few labels to learn from",
        )
    places = {one: at for at, one in enumerate(seen)}
    groups = [f"group {given[one].group}" if given[one].group else f"one {one}" for one in usable]
    try:
        found = learn(
            [one.features for one in seen.values()],
            [places[one] for one in usable],
            [given[one].completed for one in usable],
            groups,
            seed=call.body.seed or 0,
        )
    except ValueError as error:
        raise invalid({"labels": str(error)}, str(error)) from error
    with call.write() as rows:
        prompt = call.prompt(rows, lock=True)
        before = judging.learned_judge(rows, prompt.id)
        said = _said(found, seen, usable)
        said.prompt_id = prompt.id
        said.version = 1 if before is None else before.version + 1
        said.labels_left_out = len(call.body.labels) - len(usable)
        said.created_at = clock.moment()
        said.sentence = _sentence(said, prompt)
        judging.add_learned_judge(
            rows,
            LearnedJudgeRow(
                id=new_id("lrn"),
                account_id=call.account_id,
                prompt_id=prompt.id,
                version=said.version,
                judges=said.judges,
                weights=LearnedWeights(**found.judge.to_dict()),
                chances=dict(zip(usable, found.chances.tolist(), strict=True)),
                found=said,
                created_at=said.created_at,
            ),
        )
        if said.judges or (before is not None and before.judges):
            judging.decide_again(rows.core, call.account_id, prompt_id=prompt.id, now=clock.now())
        return said


@answers(endpoints.PROMPTS_LEARNED_JUDGE, threads=_LEARNING)
def get(call: Call) -> LearnedJudge:
    """Return the newest version, comparing the conversations logged since with those that it learned from."""
    with call.read() as rows:
        prompt = call.prompt(rows)
        row = judging.learned_judge(rows, prompt.id)
        if row is None:
            raise not_found("Learned judge")
        of = (call.account_id, prompt.id)
        labelled = _seen(judging.ended(rows.core, *of, list(row.chances)))
        # Newer conversations alone reveal a change before it is visible in all of them.
        since = clock.from_datetime(row.created_at)
        newest = _seen(judging.newest_ended(rows.core, *of, limit=_NEWEST, since=since))
        if len(newest) < _FEWEST_NEWEST:
            newest = _seen(judging.newest_ended(rows.core, *of, limit=_NEWEST))
    row.found.drift = _drift(labelled, newest)
    row.found.sentence = _sentence(row.found, prompt)
    return row.found


@answers(endpoints.PROMPTS_FORGET)
def forget(call: Call) -> Done:
    """Remove all versions; conversations get their earlier verdicts back."""
    with call.write() as rows:
        prompt = call.prompt(rows, lock=True)
        if not judging.remove_learned_judge(rows.core, prompt.id):
            raise not_found("Learned judge")
        judging.decide_again(rows.core, call.account_id, prompt_id=prompt.id, now=clock.now())
    return Done(success=True, message="The judge that learned from labels was removed")


def _said(found: Learned, seen: Mapping[str, _Seen], usable: Sequence[str]) -> LearnedJudge:
    """Return the learned judge in its API form."""
    labelled = {one: seen[one] for one in usable}
    others = {one: row for one, row in seen.items() if one not in labelled}
    chances = found.judge.chances([one.features for one in others.values()])
    judged = [(row.judged == bool(label)) for row, label in zip(labelled.values(), found.labels, strict=True)]
    known = [right for right, row in zip(judged, labelled.values(), strict=True) if row.judged is not None]
    analyser = Counter(row.analyser for row in labelled.values() if row.analyser).most_common(1)
    return LearnedJudge(
        version=0,
        judges=not found.refusal,
        sentence="",
        labels=len(usable),
        labels_left_out=0,
        groups=found.n_groups,
        accuracy=found.accuracy.value,
        accuracy_low=found.accuracy.low,
        accuracy_high=found.accuracy.high,
        auc=found.auc.value,
        auc_low=found.auc.low,
        auc_high=found.auc.high,
        majority=found.majority,
        analyser=analyser[0][0] if analyser else None,
        analyser_accuracy=accuracy_of(np.array(known), np.arange(len(known))).value if known else None,
        half_width=found.half_width(chances),
        half_width_more=found.half_width(chances, more=MORE),
        drift=_drift(labelled, dict(list(others.items())[:_NEWEST])),
    )


def _drift(labelled: Mapping[str, _Seen], newest: Mapping[str, _Seen]) -> LearnedDrift | None:
    """Compare the newest conversations without a label with the labelled ones; ``None`` where there are too few."""
    others = {one: row for one, row in newest.items() if one not in labelled}
    if len(others) < _FEWEST_NEWEST or len(labelled) < LABELS_MIN:
        return None
    found = unlike([row.features for row in labelled.values()], [row.features for row in others.values()])
    strangest = np.argsort(-found.chances, kind="stable")[:_TO_LABEL]
    ids = list(others)
    return LearnedDrift(
        drifted=found.drifted,
        auc=found.auc.value,
        auc_low=found.auc.low,
        auc_high=found.auc.high,
        differing=[name for name, _, _ in found.differing],
        conversation_ids=[ids[at] for at in strangest],
    )


def _sentence(said: LearnedJudge, prompt: PromptRow) -> str:
    """Describe the learned judge: its accuracy, whether it judges, the gain from more labels, and drift."""
    before = "the word list" if basis_of_analyser(said.analyser) == "words" else said.analyser
    grouped = f" of {said.groups:,} groups" if said.groups < said.labels else ""
    others = f"the majority {said.majority:.0%}"
    if said.analyser_accuracy is not None:
        others += f", {before} {said.analyser_accuracy:.0%}"
    if not said.judges:
        decided = f"The task {CANNOT}: nothing is judged by it"
    elif prompt.outcome:
        decided = f"It may judge, but the outcome of the logs ({prompt.outcome}) stays the verdict"
    else:
        decided = f"All conversations are judged by it, as version {said.version}"
    learned_of = (
        f"Learned from {said.labels:,} labels{grouped}: {said.accuracy:.0%} right ({said.accuracy_low:.0%} to "
        f"{said.accuracy_high:.0%}; {others}), AUC {said.auc:.2f} ({said.auc_low:.2f} to {said.auc_high:.2f})."
    )
    more = f"{MORE} more labels: interval ±{100 * said.half_width:.1f} → ±{100 * said.half_width_more:.1f} points."
    parts = [learned_of, f"{decided}.", more]
    if said.drift is not None and said.drift.drifted:
        parts.append(
            f"The newest conversations look unlike the labelled ones (AUC {said.drift.auc:.2f}; most by "
            f"{', '.join(said.drift.differing)}): label some of them, drift.conversation_ids has {len(said.drift.conversation_ids)}."
        )
    return " ".join(parts)
