"""Tables of optimizations, variants, simulated conversations, versions and personas."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.optimizations import OptimizationRead, read_variants
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task
from promptlift.errors import ConfigError
from promptlift.schema import endpoints
from promptlift.schema.optimizations import OPTIMIZATION_STATUSES, Optimization
from promptlift.workspace.session import Session, frames

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    Row = dict[str, Any]

# The status of optimizations that have no variants yet.
_WITHOUT_VARIANTS: Final = "queued"


class MayBeIncomplete(UserWarning):
    """A table may not have all rows: the service gives neither a total nor pages."""


class OptimizationTables(Session):
    """Tables of optimizations, and of what they made and measured."""

    def optimizations(self, prompt_id: str | None = None, *, status: str | None = None) -> pd.DataFrame:
        """Return optimizations, one row each, newest first.

        The specification's list has no pages and no total. Where a service has neither, the list is read by status and by
        prompt until it is known to be complete; where that cannot be known, ``attrs["promptlift"]`` has ``complete``
        False and says why under ``completeness``, and a warning is given.

        Parameters
        ----------
        prompt_id
            A prompt's name or id; all optimizations of the account when it is left out.
        status
            ``queued``, ``running``, ``completed``, ``failed`` or ``stopped``.

        Returns
        -------
        DataFrame
            optimization_id, prompt_id, prompt (as in ``lift.messages``), status, mode, variant_count, winner_selected, winning_variant_id, lift_pct,
            confidence, created_at, completed_at; and what only the embedded service sends: started_at, lift_low, lift_high,
            lift_expected, lift_verified (percent), n_pairs; on the mix of the logged conversations (the lift to quote where
            logged_is_headline) lift_logged, lift_logged_low, lift_logged_high, lift_logged_expected; confidence_method, theta, reason, rehearsal, deployment_state.
            Times are UTC.

        Raises
        ------
        IncompleteError
            When reading ended early; ``.fetched`` is the table of what was read.
        """
        _check_status(status)
        found = self._names.id_of_filter(prompt_id)
        frame = self._table(
            "optimizations",
            lambda: self._read_optimizations(found, status),
            {"prompt_id": found, "status": status},
        )
        frame.attrs["promptlift"]["rehearsal"] = _any_of(frame["rehearsal"])
        if "completeness" in frame.attrs["promptlift"]:
            warnings.warn(frame.attrs["promptlift"]["completeness"], MayBeIncomplete, stacklevel=2)
        return frame

    def targets(self, optimization_id: str | Optimization) -> pd.DataFrame:
        """Return what became of the targets of an optimization, one row each. Offered by the embedded service.

        Parameters
        ----------
        optimization_id
            An id, or what :meth:`~promptlift.Workspace.optimization` returned, which is not read again then.

        Returns
        -------
        DataFrame
            optimization_id, target, change (``improved``, ``worse``, ``unchanged``, ``unclear``), original_met and
            variant_met (percent), points, points_low, points_high, interval_level, n_pairs. Empty without targets.
            ``attrs["promptlift"]["hypothesis"]`` has the hypothesis, and whether it held.
        """

        def read() -> RowsRead:
            whole = optimization_id
            if isinstance(whole, str):
                whole = self.client.optimizations.get(whole)
            results = whole.results
            targets = (results.targets if results else None) or []
            hypothesis = results.hypothesis.to_wire() if results and results.hypothesis else None
            rows = [{**one.to_wire(), "optimizationId": whole.id} for one in targets]
            facts = {"hypothesis": hypothesis, "rehearsal": whole.rehearsal}
            return RowsRead(rows, len(rows), 1, complete=True, facts=facts)

        given = optimization_id if isinstance(optimization_id, str) else optimization_id.id
        return self._table("targets", read, {"optimization_id": given})

    def variants(
        self,
        optimization_id: str | Optimization | Iterable[str] | None = None,
        *,
        prompt_id: str | None = None,
    ) -> pd.DataFrame:
        """Return the variants of one or several optimizations, one row each, including the original.

        Rows of stage ``screen`` and ``confirm`` come from different conversations and cannot be compared. What the
        service does not send is missing, never guessed: without a number of pairs there is no interval.

        Parameters
        ----------
        optimization_id
            An id, or several; or what :meth:`~promptlift.Workspace.optimization` returned, which is not read again then.
        prompt_id
            Instead: all optimizations of a prompt, by its name or id.

        Returns
        -------
        DataFrame
            optimization_id, prompt (as in ``lift.messages``), variant_id, name, is_original, is_winner, stage, task_completion (fraction), sentiment,
            quality, lift (percent), lift_points, lift_low, lift_high, interval_level, lift_expected, confidence, n,
            n_pairs, n_dropped, n11, n10, n01, n00 (both, only the variant, only the original, neither completed),
            look, max_looks, n_variants_tested, lift_basis (what the two rates say the lift is),
            uncertainty_source, warnings, content, number, original_task_completion (on the same pairs), rehearsal,
            lift_verified, lift_verified_low, lift_verified_high (percent, on pairs after the decision); where scenarios come
            from logs, on their mix: logged_is_headline (that is the lift to quote), lift_logged, lift_logged_low,
            lift_logged_high, lift_logged_expected, lift_logged_verified, lift_logged_verified_low,
            lift_logged_verified_high (percent), lift_logged_points, task_completion_logged and
            original_task_completion_logged (fractions, of the same pairs), n_logged (pairs), n_logged_effective (pairs drawn
            evenly that they are worth), failed_share_tested, failed_share_logged (of conversations that had failed);
            goal_points (weighted difference of the goal, where one was given); of a search
            also generation (0 is the original), parent_variant_id, other_parent_variant_id (of a merge), search_pairs,
            search_won, search_lost, search_tied (cells beside the candidate that its generation was tested against),
            search_points over the original with the ends of its 90 % interval, search_conversations (spent up to its last
            test), search_state (``testing``, ``pool``, ``rejected``, ``finalist``), search_reason.

            ``attrs["promptlift"]`` has the units, how task completion was given, and of the optimization its status,
            confidence, threshold, trace (confidence by pass), interval_level, reason and rehearsal; of several
            under ``optimizations`` by id.

        Raises
        ------
        ConfigError
            When neither or both of the arguments are given.
        NotFound
            When there is no optimization of that id, or no such prompt; the message has near names.
        IncompleteError
            When reading ended early; ``.fetched`` is the table of what was read.
        """
        return self._table_of_variants("variants", optimization_id, prompt_id)

    def edits(
        self,
        optimization_id: str | Optimization | Iterable[str] | None = None,
        *,
        prompt_id: str | None = None,
    ) -> pd.DataFrame:
        """Return the edits that the search of one or several optimizations wrote, one row each. Offered by the embedded service.

        Parameters
        ----------
        optimization_id
            An id, or several; or what :meth:`~promptlift.Workspace.optimization` returned, which is not read again then.
        prompt_id
            Instead: all optimizations of a prompt, by its name or id.

        Returns
        -------
        DataFrame
            edit_id, optimization_id, generation and variant_id with variant (its name) of the first variant that was
            made with it, operation (``add``, ``replace``, ``delete``), symptom, cause, anchor, text, won, lost, tied (cells
            of the search with the edit against without it), effect (points that it is worth by them), state (``kept``,
            ``pruned``, ``refused``), reason, in_winner, variant_ids (all variants that were made with it), n_evidence,
            conversation_ids and quotes (lists, in the same order). Empty without a search.

        Raises
        ------
        ConfigError
            When neither or both of the arguments are given.
        NotFound
            When there is no optimization of that id, or no such prompt; the message has near names.
        IncompleteError
            When reading ended early; ``.fetched`` is the table of what was read.
        """
        return self._table_of_variants("edits", optimization_id, prompt_id)

    def _table_of_variants(
        self,
        name: str,
        optimization_id: str | Optimization | Iterable[str] | None,
        prompt_id: str | None,
    ) -> pd.DataFrame:
        """Read the variants of optimizations and make a table of them; warn when some may be missing."""
        read, filters = self._variants_read(optimization_id, prompt_id)
        frame = self._table(name, read, filters)
        if "completeness" in frame.attrs["promptlift"]:
            warnings.warn(frame.attrs["promptlift"]["completeness"], MayBeIncomplete, stacklevel=3)
        return frame

    def _variants_read(
        self, optimization_id: str | Optimization | Iterable[str] | None, prompt_id: str | None
    ) -> tuple[Callable[[], RowsRead], dict[str, Any]]:
        """Return a read of the variants of optimizations, and its filters."""
        ids = _ids_of(optimization_id)
        if (ids is None) == (prompt_id is None):
            raise ConfigError(
                "Give an optimization_id (lift.optimizations() lists them) or prompt_id=…, and not both."
            )
        prompt_id = self._names.id_of_filter(prompt_id)

        def read() -> RowsRead:
            task = Task()
            facts: dict[str, Any] = {}
            chosen: list[Any] = [optimization_id] if isinstance(optimization_id, Optimization) else ids or []
            complete = True
            if prompt_id is not None:
                listed = OptimizationRead(
                    self.client.transport, prompt_id=prompt_id, results=True, task=task
                ).run()
                chosen = [row for row in listed.rows if row.get("status") != _WITHOUT_VARIANTS]
                complete = listed.complete
                facts = {key: value for key, value in listed.facts.items() if key == "completeness"}
            with self._bar("optimizations read", len(chosen)) as move:
                found = read_variants(self.client.transport, chosen, task=task, progress=move)
            found.total = sum(len(item["variants"]) for item in found.rows)
            found.complete = found.complete and complete
            found.facts = facts
            return found

        return read, {"optimization_id": ids[0] if ids and len(ids) == 1 else ids, "prompt_id": prompt_id}

    def simulations(
        self,
        optimization_id: str | Optimization,
        *,
        variant_id: str | None = None,
        content: bool = False,
    ) -> pd.DataFrame:
        """Return the simulated conversations of an optimization, one row each. Offered by the embedded service.

        Parameters
        ----------
        optimization_id
            The optimization: its id, or what :meth:`~promptlift.Workspace.optimization` returned, which is not read
            again then.
        variant_id
            One variant, or the original; all when it is left out.
        content
            Add the transcripts.

        Returns
        -------
        DataFrame
            simulation_id, optimization_id, variant_id, variant_number (0 is the original), is_original, stage, pass_number,
            cell (arms with the same number are a pair), persona_id, persona, scenario, opening, goal,
            scenario_source, status (``dropped`` when lost to an error), task_completed, sentiment,
            sentiment_score, quality, turns, ended_by, error, created_at; with ``content`` also content.

        Raises
        ------
        NotFound
            When there is no such optimization, or the service does not offer this.
        IncompleteError
            When reading ended early; ``.fetched`` is the table of what was read.
        """
        identifier = optimization_id.id if isinstance(optimization_id, Optimization) else optimization_id

        found = optimization_id
        if not isinstance(found, Optimization):
            found = self.client.optimizations.get(found)
        frame = self._offered(
            "simulations",
            endpoints.OPTIMIZATIONS_SIMULATIONS,
            identifier,
            {"variant_id": variant_id, "include_content": content or None},
            filters={"optimization_id": identifier, "variant_id": variant_id},
            unit="simulated conversations read",
            content=content,
        )
        told, facts = frame.attrs["promptlift"], frames().facts_of(found.to_wire())
        told |= {name: facts[name] for name in ("prompt_id", "status", "rehearsal")}
        told["requests"] += found is not optimization_id
        return frame

    def versions(self, prompt_id: str) -> pd.DataFrame:
        """Return every text that a prompt ever had, one row each, newest first. Offered by the embedded service.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.

        Returns
        -------
        DataFrame
            version_id, number (1 is the first text), content (missing where it is not known), origin (``created``, ``updated``, ``applied``,
            ``auto_deployed``, ``rolled_back``, ``restored``), optimization_id, variant_id, is_live, created_at.

        Raises
        ------
        NotFound
            When there is no such prompt, or the service does not offer this.
        """

        def table(found: str) -> pd.DataFrame:
            return self._offered("versions", endpoints.PROMPTS_VERSIONS, found, filters={"prompt_id": found})

        return self._names.call(prompt_id, table)

    def production_metrics(self, optimization_id: str | Optimization) -> pd.DataFrame:
        """Return the production metrics of a deployed variant, before and after, one row each. Offered by the embedded service.

        Parameters
        ----------
        optimization_id
            The optimization that the variant comes from: its id, or what :meth:`~promptlift.Workspace.optimization`
            returned, which is not read again then.

        Returns
        -------
        DataFrame
            metric (``task_completion``, ``sentiment``, ``quality``, ``abandonment``, ``response_time``, ``length``), before,
            after (means; percent for task completion and abandonment, seconds for response time, messages for
            length), conversations_before, conversations, p (one-sided, adjusted), level (``p`` below it is harm),
            regressed. As the service's last look saw them; empty before the first, which is at 30 judged
            conversations.

        Raises
        ------
        NotFound
            When there is no such optimization.
        """
        known = optimization_id if isinstance(optimization_id, Optimization) else None
        filters = {"optimization_id": known.id if known is not None else optimization_id}

        def read() -> RowsRead:
            found = known or self.client.optimizations.get(str(optimization_id))
            production = found.deployment.production if found.deployment is not None else None
            rows = [one.to_wire() for one in production.metrics] if production is not None else []
            return RowsRead(rows, len(rows), requests=0 if known else 1, complete=True)

        return self._table("production_metrics", read, filters)

    def personas(self) -> pd.DataFrame:
        """Return the personas that simulated conversations can be held with, one row each. Offered by the embedded service.

        Returns
        -------
        DataFrame
            persona_id, name, description, built_in, created_at: the account's own first.

        Raises
        ------
        NotFound
            When the service does not offer this.
        """
        return self._offered("personas", endpoints.PERSONAS_LIST)

    def _read_optimizations(self, prompt_id: str | None, status: str | None) -> RowsRead:
        with self._bar("optimizations read", None) as move:
            return OptimizationRead(
                self.client.transport, prompt_id=prompt_id, status=status, progress=move
            ).run()


def _check_status(status: str | None) -> None:
    if status is not None and status not in OPTIMIZATION_STATUSES:
        raise ConfigError(f"status must be one of {', '.join(OPTIMIZATION_STATUSES)}, not {status!r}.")


def _ids_of(given: Any) -> list[str] | None:
    """Return a list of ids without repetitions; ``None`` when none was given."""
    if given is None:
        return None
    if isinstance(given, Optimization):
        return [given.id]
    several = isinstance(given, Iterable) and not isinstance(given, str)
    ids = list(given) if several else [given]
    if not ids or not all(isinstance(one, str) and one for one in ids):
        raise ConfigError(
            f"optimization_id must be an id as text, or several, not {given!r}. lift.optimizations() lists them."
        )
    return list(dict.fromkeys(ids))


def _any_of(column: pd.Series[Any]) -> bool | None:
    """Return whether any value is true; ``None`` where nothing is known."""
    known = column.dropna()
    return bool(known.any()) if len(known) else None
