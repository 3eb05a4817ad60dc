"""What simulations were worth: the changes that they let expect of variants, beside those that users showed."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from promptlift.schema.basis import may_tell
from promptlift.schema.experiments import (
    BEFORE_AND_AFTER,
    SIDE_BY_SIDE,
    Calibration,
    CalibrationPair,
    LiveDifference,
)
from promptlift.service import clock
from promptlift.service.deployments.experiment_results import AssignedConversations, shown
from promptlift.service.store import aggregates, deployments, optimizations
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables.prompts import ExperimentRow
from promptlift.service.store.tables.runs import VariantRow
from promptlift.stats.live import Units, difference
from promptlift.stats.shrinkage import PAIRS_NEEDED, kept_share
from promptlift.words.sentences import worth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from promptlift.stats.live import Difference


def calibration(connection: Connection, account_id: str) -> Calibration:
    """Return every variant of an account that was simulated and then met users, and the line through them.

    A variant counts once: by its newest experiment with the original of its optimization, which says more than before and
    after, since users and their requests may change meanwhile; or else by its newest apply.
    """
    found: dict[str, CalibrationPair] = {}
    for one in chain(_side_by_side(connection, account_id), _before_and_after(connection, account_id)):
        found.setdefault(one.variant_id, one)
    known = [
        (one.predicted_expected, one.difference, one.difference_error)
        for one in found.values()
        if one.difference is not None and one.difference_error is not None
    ]
    kept = kept_share(known)
    share, low, high = (None, None, None) if kept is None else kept[:3]
    return Calibration(
        data=sorted(found.values(), key=lambda pair: pair.applied_at, reverse=True),
        share=share,
        share_low=low,
        share_high=high,
        sentence=worth((share, low, high), len(known), needed=PAIRS_NEEDED),
    )


def _side_by_side(connection: Connection, account_id: str) -> Iterator[CalibrationPair]:
    """Compare variants with their originals in experiments, newest experiment first."""
    for row in Rows(connection).all(newest(ExperimentRow, account_id=account_id)):
        control, *others = row.kept.arms
        tried = {arm.number: _simulated(connection, arm.variant_id, control.content) for arm in others}
        if not any(tried.values()):
            continue
        measured = AssignedConversations.of(connection, row)
        if not measured.tells or measured.sample_ratio.is_off:
            continue
        for number, simulated in tried.items():
            change = measured.difference(number)
            if simulated and change.error is not None:
                yield _pair(
                    simulated, change, source=SIDE_BY_SIDE, experiment_id=row.id, applied_at=row.created_at
                )


def _before_and_after(connection: Connection, account_id: str) -> Iterator[CalibrationPair]:
    """Compare the conversations before and after the applies of variants, newest apply first."""
    for row in deployments.applied(connection, account_id):
        simulated = _simulated(connection, row.variant_id)
        if not simulated:
            continue
        before, after = (Units(n, done, done) for n, done in deployments.figures(connection, row))
        change = difference(after, before)
        if not may_tell(aggregates.totals(connection, account_id, row.prompt_id).basis):
            change = change._replace(error=None)
        yield _pair(simulated, change, source=BEFORE_AND_AFTER, applied_at=clock.to_datetime(row.live_since))


def _pair(simulated: dict[str, Any], change: Difference, **more: Any) -> CalibrationPair:
    """Return a variant beside what users showed; without a standard error, only how many of them completed their tasks."""
    pair = CalibrationPair(**simulated, n_before=change.original.n, n_after=change.new.n, **more)
    pair.rate_before = change.original.mean if change.original.n else None
    pair.rate_after = change.new.mean if change.new.n else None
    if change.error is not None:
        points = shown(LiveDifference, change)
        pair.difference, pair.difference_low, pair.difference_high = points.estimate, points.low, points.high
        pair.difference_error = 100.0 * change.error
    return pair


def _simulated(connection: Connection, variant_id: str | None, original: str | None = None) -> dict[str, Any]:
    """Return what the simulation of a variant let expect; empty if it was not simulated, or not against this original."""
    variant = Rows(connection).find(wanted(VariantRow, id=variant_id or ""))
    if variant is None:
        return {}
    optimization = optimizations.get(connection, variant.optimization_id)
    effect = None if optimization.results is None else optimization.results.variant(variant.number)
    if effect is None or optimization.rehearsal or original not in (None, optimization.prompt["content"]):
        return {}
    first = effect.headline
    if first.lift_points_expected is None:
        return {}
    return {
        "prompt_id": optimization.prompt_id,
        "optimization_id": optimization.id,
        "variant_id": variant.id,
        "name": variant.name,
        "predicted": first.lift_points,
        "predicted_low": first.lift_points_low,
        "predicted_high": first.lift_points_high,
        "predicted_level": effect.interval_level,
        "predicted_expected": first.lift_points_expected,
        "predicted_n": effect.n,
    }
