"""Trigger optimizations and wait for them; restore former texts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptlift.errors import ConfigError
from promptlift.schema import endpoints
from promptlift.workspace.session import Session
from promptlift.workspace.unanswered import may_have_worked
from promptlift.workspace.waiting import Wait, bar_texts, progress_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from promptlift.schema.optimizations import Optimization
    from promptlift.schema.prompts import RestoreAnswer


class Optimizing(Session):
    """Optimizations of prompts: triggered, waited for, and undone by restoring a former text."""

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
        timeout: float | None = None,
    ) -> Optimization:
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
            Whether to wait for the end. If not, the optimization is returned as it was triggered.
        timeout
            Seconds to wait at most.

        Returns
        -------
        Optimization
            Completed, or stopped (then a warning says why).

        Raises
        ------
        RunFailed
            When it failed; the message says why.
        StillRunning
            When ``timeout`` is over. The optimization continues.
        LimitExceeded
            When the quota of the month is used up.
        InvalidState
            When the text of the prompt is not known; the message says how to give it.
        NotFound
            When there is no such prompt; the message has near names.
        """
        _check_timeout(timeout)
        fields = {
            "mode": mode,
            "variant_count": variants,
            "intent": {"hypothesis": intent} if isinstance(intent, str) else intent,
            "persona_ids": None if persona_ids is None else _texts(persona_ids),
            "seed": seed,
            "rehearsal_seconds": rehearsal_seconds,
            "search": search,
            "candidates": None if candidates is None else handed_in(candidates),
            "goal": None
            if goal is None
            else [{"measure": measure, "weight": weight} for measure, weight in goal.items()],
            "simulate_tools": simulate_tools,
        }
        given = {name: value for name, value in fields.items() if value is not None}

        def trigger(found: str) -> Optimization:
            hint = f"It may have been triggered all the same: see lift.optimizations({found!r})."
            with may_have_worked("the optimization was triggered", hint):
                return self.client.optimizations.create(prompt_id=found, **given)

        begun = self._names.call(prompt_id, trigger)
        return self._wait(begun.id, timeout, known=True) if wait else begun

    def wait(self, optimization_id: str, *, timeout: float | None = None) -> Optimization:
        """Wait for the end of an optimization, as :meth:`optimize` does.

        Parameters
        ----------
        optimization_id
            The optimization.
        timeout
            Seconds to wait at most.

        Returns
        -------
        Optimization
            Completed, or stopped (then a warning says why).

        Raises
        ------
        RunFailed
            When it failed; the message says why.
        StillRunning
            When ``timeout`` is over. The optimization continues.
        """
        _check_timeout(timeout)
        return self._wait(optimization_id, timeout, known=False)

    def optimization(self, optimization_id: str) -> Optimization:
        """Return one optimization with its results, progress and deployment.

        Parameters
        ----------
        optimization_id
            The optimization.
        """
        found = self.client.optimizations.get(optimization_id)
        if found.prompt_id:
            self._names.note_id(found.prompt_id)
        return found

    def restore(
        self,
        prompt_id: str,
        version_id: str,
        *,
        if_version_id: str | None = None,
        note: str | None = None,
    ) -> RestoreAnswer:
        """Make a former text of a prompt the current one again, byte for byte. Offered by the embedded service.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        version_id
            A version of :meth:`versions`.
        if_version_id
            Only while this version is the current one, so that no change is overwritten unseen.
        note
            Why, in words; kept with the action.

        Raises
        ------
        InvalidState
            When another version is the current one.
        NotFound
            When there is no such prompt or version, or the service does not offer this.
        """

        def restore(found: str) -> RestoreAnswer:
            return self.client.prompts.restore(
                found, version_id=version_id, if_version_id=if_version_id, note=note
            )

        return self._names.call(prompt_id, restore)

    def _wait(self, optimization_id: str, timeout: float | None, *, known: bool) -> Optimization:
        with self._waiting_bar() as look:
            wait = Wait(
                self.client.transport,
                endpoints.OPTIMIZATIONS_GET,
                optimization_id,
                noun="optimization",
                go_on=f"The optimization continues: lift.wait({optimization_id!r}) waits for it again, "
                f"lift.stop({optimization_id!r}) stops it.",
                after_failure=f"For what was measured until then: lift.variants({optimization_id!r}).",
                timeout=timeout,
                look=look,
                known=known,
            )
            ended: Optimization = wait.run()
        return ended

    @contextlib.contextmanager
    def _waiting_bar(self) -> Iterator[Callable[[dict[str, Any]], None]]:
        """Show the progress of an optimization, as far as the service reports it."""
        if not self._progress:
            yield lambda _state: None
            return
        from tqdm.auto import tqdm  # noqa: PLC0415 - looks for widgets when it is loaded

        bar: Any = None
        counted = False

        def look(state: dict[str, Any]) -> None:
            nonlocal bar, counted
            before, after = bar_texts(state)
            progress = progress_of(state)
            if bar is None or counted != (progress is not None):
                if bar is not None:
                    bar.close()
                counted = progress is not None
                done, most = progress or (0, None)
                # Without numbers the bar shows the status and the time, and no rate.
                shape = None if counted else "{desc} [{elapsed}{postfix}]"
                bar = tqdm(total=most, initial=done, unit=" conversations", leave=False, bar_format=shape)
            bar.set_description_str(before, refresh=False)
            bar.set_postfix_str(after, refresh=False)
            if progress is not None:
                bar.total = progress[1]
                bar.update(progress[0] - bar.n)
            bar.refresh()

        try:
            yield look
        finally:
            if bar is not None:
                bar.close()


def _check_timeout(timeout: float | None) -> None:
    if timeout is not None and not timeout >= 0:
        raise ConfigError(f"timeout must be seconds, 0 or more, or None, not {timeout!r}.")


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
