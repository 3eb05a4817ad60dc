"""The states of a variant after its optimization: staged, tested, applied, superseded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptlift.schema.deployments import ProductionCheck, VariantDeployment
from promptlift.service import clock
from promptlift.service.deployments import current_version, evidence
from promptlift.service.deployments.verified_lift import expected_of
from promptlift.service.errors import ApiException
from promptlift.service.store import deployments, optimizations, prompts
from promptlift.service.store.tables.runs import KeptProduction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from promptlift.service.store.tables.prompts import PromptRow, VersionRow
    from promptlift.service.store.tables.runs import DeploymentRow, OptimizationRow, VariantRow


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """The first state of the deployment of a winner.

    Attributes
    ----------
    state
        ``staged``, ``testing``, ``live`` or ``rejected``.
    origin
        Who would make it live: ``approval`` of a person, or ``auto``.
    reason
        Why it is rejected, or what to know before approving it, in words.
    """

    state: Literal["staged", "testing", "live", "rejected"]
    origin: Literal["approval", "auto"]
    reason: str | None = None


STAGED = DeploymentPlan("staged", "approval")
STAGED_REHEARSAL = DeploymentPlan(
    "staged",
    "approval",
    "A rehearsal says nothing about a real prompt; it goes live only if a person accepts that",
)
REHEARSED = DeploymentPlan(
    "rejected",
    "auto",
    "A rehearsal says nothing about a real prompt, so its winner is never deployed automatically",
)
CHANGED = DeploymentPlan(
    "rejected",
    "auto",
    "The prompt was changed while the optimization ran: the winner was compared with a version that is no longer current",
)


def tests_before_deploying(settings: Mapping[str, Any], *, rehearsal: bool) -> bool:
    """Whether the settings ask for a regression test of a winner before it is deployed automatically."""
    automatic = settings.get("autoDeploy") or {}
    return not rehearsal and bool(automatic.get("enabled") and automatic.get("requireRegressionPass", True))


def after_completion(
    settings: Mapping[str, Any], *, rehearsal: bool, unchanged: bool
) -> DeploymentPlan | None:
    """Decide what happens with a winner right after its optimization; ``None`` for nothing.

    A rehearsed winner is never deployed automatically. It may be staged: only a person who accepts that it was a rehearsal
    can approve it.

    Parameters
    ----------
    settings
        Has ``deploymentMode`` and ``autoDeploy``.
    rehearsal
        Whether the built-in model was asked in place of a real one.
    unchanged
        Whether the text that the winner was compared with is still live.
    """
    automatic = settings.get("autoDeploy") or {}
    waiting = STAGED_REHEARSAL if rehearsal else STAGED
    staged = waiting if settings.get("deploymentMode") == "semi-automatic" else None
    # unspecified: deploymentMode when autoDeploy is on. It must count for less than autoDeploy, or autoDeploy would do
    # nothing in the default mode "manual"; so it does in "semi-automatic" too. Only where nothing may go live by
    # itself does "semi-automatic" ask a person.
    if not automatic.get("enabled"):
        return staged
    if rehearsal:
        return staged or REHEARSED
    if not unchanged:
        return staged or CHANGED
    return DeploymentPlan(
        "testing" if tests_before_deploying(settings, rehearsal=rehearsal) else "live", "auto"
    )


def on_completed(
    connection: Connection,
    optimization: OptimizationRow,
    *,
    winner: VariantRow | None,
    now: int,
) -> None:
    """Begin the deployment of a winner that the settings ask for, in the transaction that completes the optimization."""
    if winner is None:
        return
    prompt = prompts.find(connection, optimization.account_id, optimization.prompt_id, lock=True)
    if prompt is None:
        return
    original = optimizations.variants(connection, optimization.id)[0]
    plan = after_completion(
        optimization.settings,
        rehearsal=optimization.rehearsal,
        unchanged=prompt.content == original.content,
    )
    if plan is None:
        return
    if plan.state == "live":
        go_live(connection, prompt, optimization, winner, origin="auto", now=now)
        return
    deployments.add(
        connection,
        optimization,
        winner.id,
        state=plan.state,
        origin=plan.origin,
        now=now,
        reason=plan.reason,
    )


def check_version(live: VersionRow, wanted: str | None) -> None:
    """Refuse a change that was meant for another version than the current one.

    Raises
    ------
    ApiException
        ``INVALID_STATE`` with the live version in its details.
    """
    if wanted is not None and live.seq != current_version.version_seq(wanted):
        raise ApiException(
            "INVALID_STATE",
            "The text was changed by someone else in the meantime; read the current version and try again",
            details={
                "ifVersionId": "is not the current version",
                "liveVersionId": current_version.version_id(live.seq),
                "liveOrigin": live.origin,
                "liveSince": clock.iso(live.created_at),
            },
        )


def apply(
    connection: Connection,
    prompt: PromptRow,
    optimization: OptimizationRow,
    variant: VariantRow,
    live_seq: int,
    *,
    now: int,
) -> int:
    """Make a variant the current version on request, and return the sequence number of its version."""
    rows = deployments.of_optimization(connection, optimization.id)
    if any(row.state == "live" and row.variant_id == variant.id for row in rows):
        return live_seq
    waiting = next((row for row in rows if row.state in deployments.WAITING), None)
    mine = waiting if waiting is not None and waiting.variant_id == variant.id else None
    if waiting is not None and mine is None:
        reason = f"{variant.name} was applied in its place"
        deployments.change(connection, waiting, now=now, state="superseded", reason=reason)
    if prompt.content == variant.content and mine is None:
        # It is live for another reason, such as the original that nothing has replaced: nothing is deployed.
        return live_seq
    origin = "approval" if mine is not None and mine.state == "staged" else "manual"
    return go_live(connection, prompt, optimization, variant, origin=origin, now=now, waiting=mine)


def apply_text(
    connection: Connection, prompt: PromptRow, content: str, optimization_id: str, *, now: int
) -> int:
    """Make a text of no variant the current version and return its number.

    Nothing was measured of it, so no deployment is watched and no lift is reported.
    """
    reason = "A text put together by hand was applied"
    supersede(connection, prompt, now, reason=reason)
    return current_version.replace(
        connection, prompt, content, origin="updated", now=now, optimization_id=optimization_id
    )


def go_live(
    connection: Connection,
    prompt: PromptRow,
    optimization: OptimizationRow,
    variant: VariantRow,
    *,
    origin: str,
    now: int,
    waiting: DeploymentRow | None = None,
    **values: Any,
) -> int:
    """Make a variant the current version and return its number. The caller holds the lock of the prompt.

    Parameters
    ----------
    origin
        ``manual``, ``approval`` or ``auto``.
    waiting
        The deployment that goes live; a new one is added without it.
    values
        Other columns of the deployment.
    """
    before = prompts.current_version(connection, prompt.account_id, prompt.id)
    but = None if waiting is None else waiting.id
    supersede(connection, prompt, now, reason=f"{variant.name} was applied", but=but)
    seq, since = before.seq, before.created_at
    if prompt.content != variant.content:
        since = now
        seq = current_version.replace(
            connection,
            prompt,
            variant.content,
            origin="auto_deployed" if origin == "auto" else "applied",
            now=now,
            optimization_id=optimization.id,
            variant_id=variant.id,
            expected=expected_of(optimization, variant.id),
        )
    values |= {
        "version_seq": seq,
        "previous_version_seq": before.seq,
        "applied_at": since,
        # The original is no fix, so nothing is to be verified.
        "verification": "pending" if variant.number else None,
        "reason": None,
    }
    if waiting is None:
        deployments.add(connection, optimization, variant.id, state="live", origin=origin, now=now, **values)
    else:
        deployments.change(connection, waiting, now=now, state="live", origin=origin, **values)
    return seq


def supersede(
    connection: Connection,
    prompt: PromptRow,
    now: int,
    *,
    reason: str = "The prompt was edited",
    undone_to: str | None = None,
    but: str | None = None,
) -> None:
    """Record that another version is about to become the current one, in the transaction that changes it.

    A deployment that waits for its verdict can no longer be verified: it is confounded, and an event says so. A
    regression test against the text that was current has become meaningless, so nothing is deployed automatically.

    Parameters
    ----------
    undone_to
        The text that was restored: where it is the one from before the deployment, that was rolled back.
    but
        The deployment that goes live now.
    """
    for row in deployments.of_prompt(connection, prompt, "testing"):
        if row.id != but:
            why = f"{reason} while the regression test compared the winner with the text before"
            deployments.change(connection, row, now=now, state="rejected", reason=why)
    for row in deployments.of_prompt(connection, prompt, "live"):
        values: dict[str, Any] = {
            "state": "superseded",
            "reason": reason,
            "production": evidence.figures(connection, row),
        }
        if undone_to is not None and undone_to == _text_before(connection, row):
            values |= {
                "state": "rolled_back",
                "rolled_back_at": now,
                "reason": "The previous version was restored",
            }
        if row.verification == "pending":
            values["verification"] = "confounded"
        if deployments.change(connection, row, now=now, **values) and row.verification == "pending":
            _tell_confounded(connection, row, prompt, now=now)


def live_again(
    connection: Connection,
    deployment: DeploymentRow,
    version_seq: int,
    *,
    now: int,
    reason: str,
    **values: Any,
) -> None:
    """Watch a text again that was deployed before and is current again, by what is said with it from now on.

    What is known of the fix stays as it is.
    """
    deployments.change(
        connection,
        deployment,
        now=now,
        state="live",
        version_seq=version_seq,
        checked=0,
        production=KeptProduction(live_since=now),
        rolled_back_at=None,
        reason=reason,
        **values,
    )


def model_changed(connection: Connection, prompt: PromptRow, now: int) -> None:
    """Record that a prompt was given another model or other sampling settings, in the transaction that changes them.

    What fails afterwards cannot be told from what the fix did, so a deployment that waits for its verdict is
    confounded. Its text stays live, and is watched for harm as before.
    """
    for row in deployments.of_prompt(connection, prompt, "live"):
        if row.verification == "pending":
            reason = "The model or its settings were changed before the fix was verified"
            deployments.change(connection, row, now=now, verification="confounded", reason=reason)
            _tell_confounded(connection, row, prompt, now=now)


def prompt_deleted(connection: Connection, prompt: PromptRow, now: int) -> None:
    """End the open deployments of a prompt, in the transaction that deletes it; no event of their own is written."""
    for row in deployments.of_prompt(connection, prompt, *deployments.WAITING, "live"):
        state = "superseded" if row.state == "live" else "rejected"
        deployments.change(connection, row, now=now, state=state, reason="The prompt was deleted")


def _text_before(connection: Connection, row: DeploymentRow) -> str | None:
    version = deployments.version_before(connection, row)
    return None if version is None else version.content


def _tell_confounded(connection: Connection, row: DeploymentRow, prompt: PromptRow, *, now: int) -> None:
    gathered = evidence.gather(connection, row)
    evidence.emit(connection, "deployment.confounded", row, prompt, gathered, None, now=now)


def shown(connection: Connection, optimization_id: str) -> VariantDeployment | None:
    """Return the live deployment of an optimization, else its newest, as the API has it; ``None`` when there is none."""
    rows = deployments.of_optimization(connection, optimization_id)
    if not rows:
        return None
    row = rows[0]
    return row.shown(
        VariantDeployment,
        applied_at=None if row.applied_at is None else clock.to_datetime(row.applied_at),
        version_id=current_version.version_id(row.version_seq),
        previous_version_id=current_version.version_id(row.previous_version_seq),
        regression_test=row.regression,
        production=_production(connection, row),
        rolled_back_at=None if row.rolled_back_at is None else clock.to_datetime(row.rolled_back_at),
    )


def _production(connection: Connection, row: DeploymentRow) -> ProductionCheck | None:
    """Return the present figures while the version is current; afterwards those of its last moment."""
    if row.state == "live":
        return evidence.figures(connection, row)
    shown = row.kept.model_fields_set & ProductionCheck.model_fields.keys()
    return ProductionCheck(**{name: getattr(row.kept, name) for name in shown}) if shown else None
