"""Experiments: the text for a unit, and starting, showing, stopping and applying versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.experiments import (
    LiveArm,
    LiveExperiment,
    OfferedArm,
    RampStep,
    Resolution,
    RunningExperiment,
)
from promptlift.schema.model import Page
from promptlift.schema.naming import SCHEMES
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.deployments.current_version import LivePrompt, version_id
from promptlift.service.errors import invalid, invalid_state, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.store import prompts
from promptlift.service.store.rows import newest, wanted
from promptlift.service.store.tables.prompts import ExperimentRow, KeptExperiment, VersionRow
from promptlift.service.store.tables.runs import OptimizationRow, VariantRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptlift.schema.experiments import Calibration, ExperimentApply, ExperimentCreate
    from promptlift.schema.optimizations import StopRequest
    from promptlift.schema.queries import PageQuery, ResolveQuery
    from promptlift.service.call import AnyCall
    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.prompts import PromptRow

# Weights are written with a few decimals, and thirds do not add up exactly.
_ROUNDING: Final = 1e-6
_NO_TEXT: Final = (
    "The text of the prompt is not known, only its conversations; give the prompt its text first"
)


@answers(endpoints.PROMPTS_RESOLVE)
def resolve(call: Call[None, ResolveQuery]) -> Resolution:
    """Return the text for a unit, with one indexed look at the database: a change counts everywhere at once."""
    with call.context.database.read() as connection:
        row = prompts.offered(connection, call.account_id, call.id)
    if row is None:
        raise not_found(call.scheme.noun)
    if not row.content_known:
        raise invalid_state(_NO_TEXT, details={"content": "is not known"})
    current = Resolution(
        prompt_id=call.id,
        content=row.content,
        llm_model=row.llm_model,
        version_id=version_id(row.seq),
        variant_id=row.variant_id,
    )
    if row.experiment_id is not None:
        current.experiment = RunningExperiment(id=row.experiment_id, arms=row.kept.arms)
    return current.of(call.query.unit)


@answers(endpoints.PROMPTS_EXPERIMENTS)
def page(call: Call[None, PageQuery]) -> Page[LiveExperiment]:
    """Return one page of the experiments of a prompt, newest first, without their results."""
    with call.read() as rows:
        mine = newest(ExperimentRow, account_id=call.account_id, prompt_id=call.prompt(rows).id)
        some, total = rows.page(mine, call.query)
        return Page(data=[_shown(one) for one in some], pagination=call.query.of(total))


@answers(endpoints.PROMPTS_EXPERIMENT)
def start(call: Call[ExperimentCreate]) -> LiveExperiment:
    """Start an experiment; from the next request on, units get their version."""
    with call.write() as rows:
        prompt = call.prompt(rows, lock=True)
        if not prompt.content_known:
            raise invalid_state(_NO_TEXT, details={"content": "is not known"})
        if (other := prompts.running_experiment(rows.core, prompt)) is not None:
            raise invalid_state(
                "The prompt has a running experiment, and units can be in one only; stop or apply it first",
                details={"experimentId": other.id},
            )
        now, weights, ramp = clock.moment(), call.body.weights, None
        if call.body.ramp:
            from promptlift.stats.live import RAMP  # noqa: PLC0415 - resolving needs no numbers

            if [*weights.values()] != [1.0]:
                raise invalid(
                    {"weights": "must name one version with the weight 1, since a ramp ends with all units"},
                    "A ramp needs one version",
                )
            ramp = [RampStep(share=RAMP[0], since=now)]
            weights = dict.fromkeys(weights, RAMP[0])
        row = ExperimentRow(
            id=new_id("exp"),
            account_id=call.account_id,
            prompt_id=prompt.id,
            status="running",
            kept=KeptExperiment(arms=_arms(rows, prompt, weights), ramp=ramp),
            created_at=now,
        )
        rows.insert(row)
        return _shown(row)


def _arms(rows: Rows, prompt: PromptRow, weights: Mapping[str, float]) -> list[OfferedArm]:
    """Return the arms for the weights of a request, the current version first.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` by version, or under ``weights``.
    """
    known, control = _texts(rows, prompt, weights)
    others: list[OfferedArm] = []
    problems: dict[str, str] = {}
    for given, weight in weights.items():
        arm = known.get(given)
        if arm is None:
            problems[f"weights.{given}"] = (
                f"is not a version of this prompt, which has v1 to {control.name}, nor a variant of its optimizations, "
                "rehearsals left out"
            )
        elif arm.weight:
            problems[f"weights.{given}"] = f"is {arm.name}, which is there already"
        elif not arm.content:
            problems[f"weights.{given}"] = "has no known text"
        else:
            arm.weight = weight
            if arm is not control:
                others.append(arm)
                arm.number = len(others)
    if problems:
        raise invalid(problems, "A version is not possible")
    if not others:
        raise invalid({"weights": f"name only {control.name}, the current version; name another one"})
    rest = 1.0 - sum(arm.weight for arm in others)
    if rest < _ROUNDING or (control.weight and abs(control.weight - rest) > _ROUNDING):
        total = sum(weights.values())
        words = (
            f"add up to {total:g}; leave out {control.name}, the current version, to give it the rest up to 1"
        )
        raise invalid({"weights": words})
    control.weight = rest
    return [control, *others]


def _texts(rows: Rows, prompt: PromptRow, names: Iterable[str]) -> tuple[dict[str, OfferedArm], OfferedArm]:
    """Return the versions of a prompt by number and by id, with the named variants of its optimizations; and the current version."""
    mine = {"account_id": prompt.account_id, "prompt_id": prompt.id}
    tested = wanted(OptimizationRow, **mine, rehearsal=False).with_only_columns(OptimizationRow.id)
    variants = wanted(VariantRow).where(VariantRow.id.in_(names), VariantRow.optimization_id.in_(tested))
    known = {
        row.id: OfferedArm(number=0, weight=0.0, name=row.name, content=row.content, variant_id=row.id)
        for row in rows.all(variants)
    }
    for number, row in enumerate(rows.all(wanted(VersionRow, **mine).order_by(VersionRow.seq)), 1):
        current = OfferedArm(
            number=0,
            weight=0.0,
            name=f"v{number}",
            content=row.content if row.content_known else "",
            version_id=version_id(row.seq),
            variant_id=row.variant_id,
        )
        known |= dict.fromkeys((current.name, current.version_id or ""), current)
    return known, current


def _shown(row: ExperimentRow) -> LiveExperiment:
    arms = [LiveArm(**arm.model_dump(exclude={"content"})) for arm in row.kept.arms]
    return row.shown(
        LiveExperiment,
        arms=arms,
        ramp=row.kept.ramp,
        applied_version_id=version_id(row.applied_version_seq),
    )


def _measured(rows: Rows, row: ExperimentRow) -> LiveExperiment:
    # Resolving needs no numbers.
    from promptlift.service.deployments.experiment_results import AssignedConversations  # noqa: PLC0415

    return AssignedConversations.of(rows.core, row).fill(_shown(row))


@answers(endpoints.EXPERIMENTS_GET)
def get(call: Call) -> LiveExperiment:
    """Return an experiment with its results."""
    with call.read() as rows:
        row = call.found(rows, ExperimentRow, "Experiment")
        return _measured(rows, row)


@answers(endpoints.EXPERIMENTS_CALIBRATION)
def worth(call: AnyCall) -> Calibration:
    """Return what simulations were worth, by all variants that met users."""
    # Resolving needs no numbers.
    from promptlift.service.deployments.calibration import calibration  # noqa: PLC0415

    with call.read() as rows:
        return calibration(rows.core, call.account_id)


@answers(endpoints.EXPERIMENTS_STOP)
def stop(call: Call[StopRequest]) -> LiveExperiment:
    """Stop an experiment."""
    with call.write() as rows:
        row = call.found(rows, ExperimentRow, "Experiment")
        reason = call.body.reason or "Stopped by a person"
        if not prompts.end_experiment(rows.core, row, "stopped", now=clock.now(), reason=reason):
            raise _over(row)
        rows.refresh(row)
        return _measured(rows, row)


def _over(row: ExperimentRow) -> Exception:
    return invalid_state(
        f"The experiment is {row.status.replace('_', ' ')}{f': {row.reason}' if row.reason else ''}",
        details={"status": row.status},
    )


@answers(endpoints.EXPERIMENTS_APPLY)
def apply(call: Call[ExperimentApply]) -> LiveExperiment:
    """Make a version of an experiment current, and end the experiment.

    By default the version that is better than the current one. A stopped experiment can be applied while the text
    with which it compared is current.
    """
    with call.write() as rows:
        connection, row = rows.core, call.found(rows, ExperimentRow, "Experiment")
        noun, now = SCHEMES["prompt"].noun, clock.now()
        prompt = prompts.found(rows, call.account_id, row.prompt_id, noun, lock=True)
        rows.refresh(row)  # it may have ended while this waited for the prompt
        if row.status == "applied" or prompt.content != row.kept.arms[0].content:
            raise _over(row)
        number = call.body.arm
        if number is None:
            better = [arm for arm in _measured(rows, row).arms if arm.verdict == "better"]
            if not better:
                raise invalid_state(
                    "No version is better than the current one by what was measured; pass arm to apply one all the same",
                    details={"arm": "needed, because no version is better"},
                )
            number = max(better, key=lambda arm: (arm.difference and arm.difference.low) or 0.0).number
        elif number >= len(row.kept.arms):
            raise invalid({"arm": f"must be from 0 to {len(row.kept.arms) - 1}"})
        LivePrompt(connection, prompt, now=now).apply_arm(rows, row, number, note=call.body.note)
        return _measured(rows, row)
