"""Optimizations of prompts: triggered, and read as tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptlift.client.api.group import given
from promptlift.client.reads.optimizations import read_optimizations
from promptlift.errors import ConfigError
from promptlift.schema.model import RUN_STATUSES
from promptlift.workspace.optimizing.run import MayBeIncomplete, OptimizationRun, VariantTables
from promptlift.workspace.runs import may_have_worked
from promptlift.workspace.session import Room

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from promptlift.client.reads.read_list import RowsRead
    from promptlift.schema.optimizations import Optimization

__all__ = ["Optimizations", "Optimizing", "handed_in"]


class Optimizations(Room):
    """The optimizations of the account: ``lift.optimizations()`` is their table, ``lift.optimizations[optimization_id]`` one of them."""

    def __getitem__(self, optimization_id: str) -> OptimizationRun:
        found = self.client.optimizations.get(optimization_id)
        if found.prompt_id:
            self._names.note_id(found.prompt_id)
        return OptimizationRun(self._lift, found)

    def __call__(self, prompt_id: str | None = None, *, status: str | None = None) -> pd.DataFrame:
        """Return optimizations, one row each, newest first.

        The specification's list has no pages and no total. If the answer of a service without them may have reached a limit,
        ``attrs["promptlift"]`` has ``complete`` False and says why under ``completeness``, and a warning is given.

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
        if status is not None and status not in RUN_STATUSES:
            raise ConfigError(f"status must be one of {', '.join(RUN_STATUSES)}, not {status!r}.")
        found = self._names.id_of_filter(prompt_id)
        frame = self._table(
            "optimizations",
            lambda: self._read_optimizations(found, status),
            {"prompt_id": found, "status": status},
        )
        known = frame["rehearsal"].dropna()
        frame.attrs["promptlift"]["rehearsal"] = bool(known.any()) if len(known) else None
        if "completeness" in frame.attrs["promptlift"]:
            warnings.warn(frame.attrs["promptlift"]["completeness"], MayBeIncomplete, stacklevel=2)
        return frame

    def _read_optimizations(self, prompt_id: str | None, status: str | None) -> RowsRead:
        with self._bar("optimizations read", None) as move:
            return read_optimizations(
                self.client.transport, prompt_id=prompt_id, status=status, progress=move
            )


class Optimizing(VariantTables):
    """Optimizations of prompts, and tables of what several of them made."""

    @cached_property
    def optimizations(self) -> Optimizations:
        """The optimizations of the account."""
        return Optimizations(self)

    def optimize(
        self,
        prompt_id: str,
        *,
        mode: str | None = None,
        variants: int | None = None,
        intent: str | Mapping[str, Any] | None = None,
        persona_ids: Sequence[str] | None = None,
        seed: int | None = None,
        rehearsal_seconds: float | None = None,
        search: str | None = None,
        candidates: Sequence[str] | Mapping[str, str] | None = None,
        goal: Mapping[str, float] | None = None,
        simulate_tools: bool | None = None,
        wait: bool = True,
    ) -> OptimizationRun:
        """Trigger an optimization of a prompt, and wait for its end.

        The trigger is sent once and never repeated. Waiting shows a bar (stage, simulated conversations done and
        at most, confidence so far, time left at most) and survives a network that fails for a while. Ctrl-C and the
        kernel's stop button end the waiting at once, not the optimization.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        mode
            ``exploratory`` (fast) or ``validation`` (thorough). Default: the account's setting.
        variants
            Number of variants to write, 1 to 5. Default: the account's setting.
        intent
            What to improve: a sentence, or a dict with ``target_improvements`` (texts) and ``hypothesis``.
        persona_ids
            Personas to hold the conversations with; the result then applies to these only.
        seed
            The same seed and the same model answers give the same result. Offered by the embedded service.
        rehearsal_seconds
            Seconds that a rehearsal takes when it needs every pass, at most 3600, so that it can be watched and stopped;
            one that is decided earlier ends earlier. 0 is as fast as it can be. Offered by the embedded service without a
            language model.
        search
            ``on`` lets candidates be written in generations that learn from logged failures, where there are any; ``off``
            writes all variants at once. Default: the account's setting, which is ``on`` in a new account. Offered by the
            embedded service.
        candidates
            Whole texts to test in place of written variants, whoever wrote them: a list, or a dict from names to texts, 5 at
            most. They are tested as they are, with the same statistics; a warning says where one lost a rule of the prompt or
            repeats customers. Offered by the embedded service.
        goal
            What candidates of a search and finalists are chosen by: a weight for each of ``taskCompletion`` and the target
            improvements of ``intent``. Default: task completion alone. Whatever the goal, a search accepts no candidate that
            completes fewer tasks than the one that it is tested against, and only a variant that completes more tasks than
            the original is named the winner. Offered by the embedded service.
        simulate_tools
            Whether the tools of an agent are played, from what they gave in its logged conversations. Default: the
            account's setting. Offered by the embedded service.
        wait
            Whether to wait for the end; if not, :meth:`OptimizationRun.wait` does.

        Returns
        -------
        OptimizationRun
            Completed, or stopped (then a warning says why).

        Raises
        ------
        RunFailed
            When it failed; the message says why.
        LimitExceeded
            When the quota of the month is used up.
        InvalidState
            When the text of the prompt is not known; the message says how to give it.
        NotFound
            When there is no such prompt; the message has near names.
        """
        fields = given(
            mode=mode,
            variant_count=variants,
            intent={"hypothesis": intent} if isinstance(intent, str) else intent,
            persona_ids=None if persona_ids is None else _texts(persona_ids),
            seed=seed,
            rehearsal_seconds=rehearsal_seconds,
            search=search,
            candidates=None if candidates is None else handed_in(candidates),
            goal=goal and [{"measure": measure, "weight": weight} for measure, weight in goal.items()],
            simulate_tools=simulate_tools,
        )

        def trigger(found: str) -> Optimization:
            hint = f"It may have been triggered all the same: see lift.optimizations({found!r})."
            with may_have_worked("the optimization was triggered", hint):
                return self.client.optimizations.create(prompt_id=found, **fields)

        run = OptimizationRun(self, self._names.call(prompt_id, trigger))
        return run.wait() if wait else run

    def variants(
        self,
        optimization_id: str | OptimizationRun | Iterable[str | OptimizationRun] | None = None,
        *,
        prompt_id: str | None = None,
    ) -> pd.DataFrame:
        """Return the variants of one or several optimizations, one row each, including the original.

        Rows of stage ``screen`` and ``confirm`` come from different conversations and cannot be compared. What the
        service does not send is missing, never guessed: without a number of pairs there is no interval.

        Parameters
        ----------
        optimization_id
            A run or its id, or several.
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
            words of the text, its tokens_per_conversation, cost_per_month (last 30 days, price of the newest benchmark);
            goal_points (weighted difference of the goal, where one was given); of a search
            also generation (0 is the original), parent_variant_id, other_parent_variant_id (of a merge), search_pairs,
            search_won, search_lost, search_tied (cells beside the candidate that its generation was tested against),
            search_points over the original with the ends of its 90% interval, search_conversations (spent up to its last
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
        return self._table_of_variants("variants", _chosen(optimization_id, prompt_id), prompt_id)

    def edits(
        self,
        optimization_id: str | OptimizationRun | Iterable[str | OptimizationRun] | None = None,
        *,
        prompt_id: str | None = None,
    ) -> pd.DataFrame:
        """Return the edits that the search of one or several optimizations wrote, one row each. Offered by the embedded service.

        Parameters
        ----------
        optimization_id, prompt_id
            As for :meth:`variants`.

        Returns
        -------
        DataFrame
            edit_id, optimization_id, generation and variant_id with variant (its name) of the first variant that was
            made with it, operation (``add``, ``replace``, ``delete``), symptom, cause, anchor, text, won, lost, tied (cells
            of the search with the edit against without it), effect (points that it is worth by them), state (``kept``,
            ``pruned``, ``refused``), reason, in_winner, variant_ids (all variants that were made with it), n_evidence,
            conversation_ids and quotes (lists, in the same order). Empty without a search. Raises as :meth:`variants` does.
        """
        return self._table_of_variants("edits", _chosen(optimization_id, prompt_id), prompt_id)


def _chosen(optimization_id: Any, prompt_id: str | None) -> list[str] | None:
    """Return the ids of optimizations without repetitions; ``None`` when a prompt was named instead.

    Raises
    ------
    ConfigError
        When neither or both are given, or an id is no text.
    """
    if (optimization_id is None) == (prompt_id is None):
        raise ConfigError(
            "Give an optimization_id (lift.optimizations() lists them) or prompt_id=…, and not both."
        )
    if optimization_id is None:
        return None
    several = isinstance(optimization_id, Iterable) and not isinstance(optimization_id, str)
    given = list(optimization_id) if several else [optimization_id]
    ids = [one.id if isinstance(one, OptimizationRun) else one for one in given]
    if not ids or not all(isinstance(one, str) and one for one in ids):
        raise ConfigError(
            f"optimization_id must be a run or its id, or several, not {optimization_id!r}. lift.optimizations() lists them."
        )
    return list(dict.fromkeys(ids))


def handed_in(candidates: Sequence[str] | Mapping[str, str]) -> list[dict[str, str]]:
    """Return candidates as a request has them.

    Raises
    ------
    ConfigError
        When one is no text.
    """
    if isinstance(candidates, Mapping):
        found = [{"name": name, "content": text} for name, text in candidates.items()]
    else:
        found = [{"content": text} for text in _texts(candidates)]
    for one in found:
        for value in one.values():
            if not isinstance(value, str):
                raise ConfigError(
                    f"candidates must be a list of texts, or a dict from names to texts: {value!r:.80} is no text."
                )
    return found


def _texts(given: Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
