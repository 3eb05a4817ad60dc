"""The current version of a prompt: text, version, deployments and events change together, and only here."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from promptlift.schema.events import PromptUpdated
from promptlift.service import clock
from promptlift.service.deployments import evidence
from promptlift.service.deployments.verified_lift import expected_of
from promptlift.service.errors import ApiException
from promptlift.service.store import deployments, events, optimizations, prompts
from promptlift.service.store.rows import wanted
from promptlift.service.store.tables.runs import KeptProduction, VariantRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.prompts import ExperimentRow, PromptRow, VersionRow
    from promptlift.service.store.tables.runs import DeploymentRow, OptimizationRow

_VERSION_START = "ver_"
# Names of origins in events, where they differ.
_UPDATE_TYPES = {"rolled_back": "rollback", "updated": "manual"}


def version_id(seq: int | None) -> str | None:
    """Return the API id of a version."""
    return None if seq is None else f"{_VERSION_START}{seq}"


def version_seq(given: str) -> int | None:
    """Read the sequence number from an API id; ``None`` for anything else."""
    digits = given.removeprefix(_VERSION_START)
    known = digits != given and digits.isascii() and digits.isdecimal() and len(digits) <= 18
    return int(digits) if known and version_id(int(digits)) == given else None


@dataclass
class LivePrompt:
    """A prompt whose current version may change, in a transaction that holds its lock.

    The change supersedes the deployment whose text was current; if its verdict was pending, an event reports
    it as confounded.

    Attributes
    ----------
    before
        The version that was current before any change.
    """

    connection: Connection
    prompt: PromptRow
    now: int
    before: VersionRow = field(init=False)

    def __post_init__(self) -> None:
        self.before = prompts.current_version(self.connection, self.prompt.account_id, self.prompt.id)

    def log(self, kind: str, made: int, *, note: str | None, **values: Any) -> str:
        """Record the action that made a version current, and return its id; see `prompts.log_action`."""
        return prompts.log_action(
            self.connection,
            self.prompt.account_id,
            self.prompt.id,
            kind,
            now=self.now,
            note=note,
            from_version_seq=self.before.seq,
            to_version_seq=made,
            **values,
        )

    def check_version(self, wanted: str | None) -> None:
        """Refuse a change that was meant for a version other than the current one.

        Raises
        ------
        ApiException
            ``INVALID_STATE`` with the live version in its details.
        """
        live = self.before
        if wanted is not None and live.seq != version_seq(wanted):
            raise ApiException(
                "INVALID_STATE",
                "The text was changed by someone else in the meantime; read the current version and try again",
                details={
                    "ifVersionId": "is not the current version",
                    "liveVersionId": version_id(live.seq),
                    "liveOrigin": live.origin,
                    "liveSince": clock.iso(live.created_at),
                },
            )

    # Texts of optimizations

    def apply(self, optimization: OptimizationRow, variant: VariantRow) -> int:
        """Make a variant the current version on request, and return the sequence number of its version."""
        mine = None
        for row in deployments.of_optimization(self.connection, optimization.id):  # the live one is first
            if row.state == "live" and row.variant_id == variant.id:
                return self.before.seq
            if row.state in deployments.WAITING and row.variant_id == variant.id:
                mine = row
            elif row.state in deployments.WAITING:
                self._change(row, state="superseded", reason=f"{variant.name} was applied in its place")
        if self.prompt.content == variant.content and mine is None:
            # The text is live for another reason, such as an original that was never replaced: nothing is
            # deployed.
            return self.before.seq
        origin = "approval" if mine is not None and mine.state == "staged" else "manual"
        return self.go_live(optimization, variant, origin=origin, waiting=mine)

    def apply_arm(self, rows: Rows, experiment: ExperimentRow, number: int, *, note: str | None) -> None:
        """Make a version of an experiment the current one, which ends the experiment."""
        arm = experiment.kept.arms[number]
        experiment.status, experiment.reason = "applied", None
        experiment.ended_at = clock.to_datetime(self.now)
        rows.flush()  # before the text changes, which would stop it
        variant = None if arm.variant_id is None else rows.find(wanted(VariantRow, id=arm.variant_id))
        if variant is None or arm.version_id is not None:
            seq = self.restore(arm.content)
        else:
            seq = self.apply(optimizations.get(self.connection, variant.optimization_id), variant)
        self.log("apply", seq, note=note, variant_id=arm.variant_id)
        experiment.applied_version_seq = seq
        rows.flush()

    def apply_text(self, content: str, optimization: OptimizationRow) -> int:
        """Make a text that is not a variant's the current version and return its number.

        Nothing was measured for it, so no deployment is monitored and no lift is reported.
        """
        self.supersede(reason="A text put together by hand was applied")
        return self.replace(content, origin="updated", optimization_id=optimization.id)

    def go_live(
        self,
        optimization: OptimizationRow,
        variant: VariantRow,
        *,
        origin: str,
        waiting: DeploymentRow | None = None,
        **values: Any,
    ) -> int:
        """Make a variant the current version and return its number.

        Parameters
        ----------
        origin
            ``manual``, ``approval`` or ``auto``.
        waiting
            The deployment that goes live; by default a new one is added.
        values
            Other columns of the deployment.
        """
        self.supersede(reason=f"{variant.name} was applied", but=waiting)
        seq, since = self.before.seq, self.before.created_at
        if self.prompt.content != variant.content:
            since = self.now
            seq = self.replace(
                variant.content,
                origin="auto_deployed" if origin == "auto" else "applied",
                optimization_id=optimization.id,
                variant_id=variant.id,
                expected=expected_of(optimization, variant.id),
            )
        values |= {
            "state": "live",
            "origin": origin,
            "version_seq": seq,
            "previous_version_seq": self.before.seq,
            "applied_at": since,
            # The original is not a fix, so there is nothing to verify.
            "verification": "pending" if variant.number else None,
            "reason": None,
        }
        if waiting is None:
            deployments.add(self.connection, optimization, variant.id, now=self.now, **values)
        else:
            self._change(waiting, **values)
        return seq

    def live_again(self, deployment: DeploymentRow, version_seq: int, *, reason: str, **values: Any) -> None:
        """Monitor a previously deployed text that is current again, by its conversations from now on.

        The verdict on the fix stays unchanged.
        """
        self._change(
            deployment,
            state="live",
            version_seq=version_seq,
            checked=0,
            production=KeptProduction(live_since=self.now),
            rolled_back_at=None,
            reason=reason,
            **values,
        )

    # Any text

    def restore(self, content: str) -> int:
        """Make an earlier text the current version and return its number."""
        if content == self.prompt.content:
            return self.before.seq
        self.supersede(reason="Another version was restored", undone_to=content)
        seq = self.replace(content, origin="restored")
        former = deployments.former_of_text(self.connection, self.prompt, content)
        if former is not None:
            # unspecified: whether a text that a person restores is watched. It is, like any text of an
            # optimization that goes live, and like a text that a person applied: harm is reported, and the
            # person decides.
            reason = "Live again, because its version was restored"
            self.live_again(former, seq, reason=reason, origin="manual")
        return seq

    def replace(
        self,
        content: str,
        *,
        origin: str,
        optimization_id: str | None = None,
        variant_id: str | None = None,
        expected: Mapping[str, float | None] = MappingProxyType({}),
    ) -> int:
        """Make a different text the current version and return its sequence number.

        Parameters
        ----------
        origin
            ``applied``, ``auto_deployed``, ``rolled_back``, ``restored``, or ``updated`` for a text from a person.
        expected
            The effect to expect of an applied variant.
        """
        connection, prompt = self.connection, self.prompt
        known = prompts.is_known(connection, prompt, content)
        changed = {"content": content, "content_known": known, "updated_at": self.now}
        prompts.change(connection, prompt.account_id, prompt.id, changed)
        seq = prompts.add_version(
            connection,
            prompt,
            content,
            origin,
            now=self.now,
            content_known=known,
            optimization_id=optimization_id,
            variant_id=variant_id,
        )
        self.record_update(origin, variant_id=variant_id, expected=expected)
        return seq

    def record_update(
        self,
        update_type: str,
        *,
        variant_id: str | None = None,
        expected: Mapping[str, float | None] = MappingProxyType({}),
    ) -> None:
        """Write the event of a changed text, and stop the experiment that compared the former one."""
        self._stop_experiment("The text of the prompt was changed meanwhile")
        payload = PromptUpdated(
            prompt_id=self.prompt.id,
            prompt_name=self.prompt.name,
            # unspecified: values of updateType. How the text came; "manual" is an edit by a person or program over the API.
            update_type=_UPDATE_TYPES.get(update_type, update_type),
            applied_at=clock.to_datetime(self.now),
            **expected,
        )
        if variant_id is not None:
            payload.variant_id = variant_id
        prompt = self.prompt
        events.add(self.connection, "prompt.updated", prompt.account_id, prompt.id, payload, now=self.now)

    # Ending deployments

    def supersede(
        self,
        *,
        reason: str = "The prompt was edited",
        undone_to: str | None = None,
        but: DeploymentRow | None = None,
    ) -> None:
        """Record that another version is about to become the current one.

        A deployment whose verdict is pending can no longer be verified. A regression test against the
        previous text has become meaningless, so nothing is deployed automatically.

        Parameters
        ----------
        undone_to
            The restored text: if it is the text from before the deployment, the deployment was rolled back.
        but
            The deployment that goes live now.
        """
        for row in deployments.of_prompt(self.connection, self.prompt, "testing", "live"):
            if row.state == "testing":
                if but is None or row.id != but.id:
                    why = f"{reason} while the regression test compared the winner with the text before"
                    self._change(row, state="rejected", reason=why)
                continue
            values: dict[str, Any] = {"state": "superseded", "reason": reason}
            before = deployments.version_before(self.connection, row)
            if undone_to is not None and before is not None and before.content == undone_to:
                values = {"state": "rolled_back", "reason": "The previous version was restored"}
                values["rolled_back_at"] = self.now
            self._confound(row, production=evidence.figures(self.connection, row), **values)

    def model_changed(self) -> None:
        """Record that the prompt got another model or other sampling settings.

        Their effect cannot be separated from that of the fix, so a deployment whose verdict is pending is
        confounded. Its text stays live, and is still monitored for harm.
        """
        for row in deployments.of_prompt(self.connection, self.prompt, "live"):
            if row.verification == "pending":
                reason = "The model or its settings were changed before the fix was verified"
                self._confound(row, reason=reason)

    def deleted(self) -> None:
        """End the open deployments of a deleted prompt, without events of their own."""
        for row in deployments.of_prompt(self.connection, self.prompt, *deployments.WAITING, "live"):
            state = "superseded" if row.state == "live" else "rejected"
            self._change(row, state=state, reason="The prompt was deleted")
        self._stop_experiment("The prompt was deleted")

    def _stop_experiment(self, reason: str) -> None:
        running = prompts.running_experiment(self.connection, self.prompt)
        if running is not None:
            prompts.end_experiment(self.connection, running, "stopped", now=self.now, reason=reason)

    def _change(self, row: DeploymentRow, **values: Any) -> bool:
        return deployments.change(self.connection, row, now=self.now, **values)

    def _confound(self, row: DeploymentRow, **values: Any) -> None:
        """Change a live deployment whose fix can no longer be verified."""
        pending = row.verification == "pending"
        if pending:
            values["verification"] = "confounded"
        if self._change(row, **values) and pending:
            gathered = evidence.gather(self.connection, row)
            evidence.emit(
                self.connection, "deployment.confounded", row, self.prompt, gathered, None, now=self.now
            )
