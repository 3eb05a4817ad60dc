"""Prompts: created and changed by name or id, and restored."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Final, get_args

from promptlift.client.api.group import given
from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import ConfigError
from promptlift.schema import endpoints, limits
from promptlift.workspace.filters import NothingMatchesWarning
from promptlift.workspace.session import Session
from promptlift.workspace.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from promptlift.schema.prompts import Prompt, PromptChange, RestoreAnswer


_LONGEST_WAIT: Final = 60.0
_PAUSE: Final = 0.05
_ALL: Final = "all"


class Prompts(Session):
    """Creating and changing prompts, and their ranking."""

    def create_prompt(
        self,
        name: str,
        content: str,
        *,
        llm_model: str | None = None,
        description: str | None = None,
        tags: Sequence[str] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        objective: str | None = None,
        outcome: str | None = None,
        alert_below: float | None = None,
    ) -> Prompt:
        """Create a prompt.

        Parameters
        ----------
        name
            Its name; no other prompt may have it, because the methods of the workspace take names.
        content
            Its text.
        llm_model
            The model that it is for; the account's setting ``general.preferredLLM`` when it is left out.
        description, tags, temperature, max_tokens, objective
            What else is known about it.
        outcome
            The rule by which the logs say that a conversation succeeded, such as ``"score.reward >= 1"`` or
            ``"resolved"``: see :meth:`outcomes`.
        alert_below
            The completion rate that it should have, such as ``0.8``. When it surely falls below, looked at every five
            minutes, the event ``quality.dropped`` goes to the webhooks: once, until it has recovered. A prompt exactly
            at the line raises a false alarm in 90 days with a chance of at most 5%.

        Returns
        -------
        Prompt
            The prompt, with its ``id``.

        Raises
        ------
        ConfigError
            When a prompt has this name already; the message has its id.
        ValidationError
            When the service refuses a field; for a model that it does not know, with near names.

        Examples
        --------
        >>> lift.create_prompt("Support assistant", "You help …", llm_model="gpt-4o")  # doctest: +SKIP
        """
        there = self._names.with_name(name)
        if there:
            raise ConfigError(
                f"There is a prompt {name!r} already ({', '.join(there)}). Choose another name, or change that one with "
                "lift.update_prompt(…)."
            )
        fields = given(
            llm_model=llm_model, description=description, tags=tags and [*tags], temperature=temperature,
            max_tokens=max_tokens, objective=objective, outcome=outcome, alert_below=alert_below,
        )  # fmt: skip
        made = self.client.prompts.create(name=name, content=content, **fields)
        self._names.forget_list()
        self._names.note_id(made.id)
        return made

    def update_prompt(
        self,
        prompt_id: str,
        *,
        content: str | None = None,
        name: str | None = None,
        llm_model: str | None = None,
        description: str | None = None,
        tags: Sequence[str] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        objective: str | None = None,
        outcome: str | None = None,
        alert_below: float | None = None,
        status: str | None = None,
    ) -> PromptChange:
        """Change a prompt; what is left out stays as it is. A new text becomes a new version.

        Parameters
        ----------
        prompt_id
            The prompt's name or id.
        content
            Its new text.
        name
            Its new name.
        llm_model, description, tags, temperature, max_tokens, objective
            As for :meth:`create_prompt`.
        outcome
            The rule by which the logs say that a conversation succeeded, such as ``"score.reward >= 1"``. From now on it
            is the verdict of all conversations of the prompt; those whose logs do not say have none. An empty text returns to
            the analyser's verdict. Returns when the verdicts are there, after a minute at most.
        alert_below
            As for :meth:`create_prompt`, from today on; 0 ends the watch.
        status
            ``active``, ``draft`` or ``archived``.

        Returns
        -------
        PromptChange
            What the service says of the change.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        ConfigError
            When nothing is to be changed, or several prompts have the name; the message lists their ids.
        """
        fields = given(
            content=content, name=name, llm_model=llm_model, description=description, temperature=temperature,
            tags=None if tags is None else [*tags], max_tokens=max_tokens, objective=objective, outcome=outcome,
            alert_below=alert_below, status=status,
        )  # fmt: skip
        if not fields:
            raise ConfigError(
                "Nothing to change: give content, name, llm_model, objective, outcome, status …"
            )
        changed = self._names.call(prompt_id, lambda found: self.client.prompts.update(found, **fields))
        self._names.forget_list()
        if outcome is not None:
            self._wait_for_verdicts(changed.id)
        return changed

    def topics(self, prompt: str) -> Topics:
        """Return the topics that the service keeps of a prompt, to be renamed, pinned, excluded, merged and split.

        They are found in the background and stay the same from day to day; the column ``topics`` of conversations that no model
        judged has their names, and :meth:`atlas` counts them.

        Parameters
        ----------
        prompt
            A prompt's name or id.

        Returns
        -------
        Topics
            Its ``table``, and ``change``, which the opposite value undoes.

        Raises
        ------
        NotFound
            When there is no such prompt.

        Examples
        --------
        >>> lift.topics("Support assistant").change("card · refund · send", name="Refunds")  # doctest: +SKIP
        """
        return Topics(self, self._names.known_id(prompt))

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
        return self._names.call(
            prompt_id,
            lambda found: self._offered(
                "versions", endpoints.PROMPTS_VERSIONS, found, filters={"prompt_id": found}
            ),
        )

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
        fields = given(version_id=version_id, if_version_id=if_version_id, note=note)
        return self._names.call(prompt_id, lambda found: self.client.prompts.restore(found, **fields))

    def fleet(self, days: str | int = limits.INSIGHTS_DAYS_DEFAULT) -> pd.DataFrame:
        """Return all prompts of the account by task completion, one row each, the best first.

        Parameters
        ----------
        days
            7, 30, 90 or ``"all"``.

        Returns
        -------
        DataFrame
            prompt_id, name, rank with rank_low and rank_high (the places that the data allow), completion_pct with the
            ends of its interval, n, failed. Only prompts with judged conversations, a hundred at most;
            ``attrs["promptlift"]["period"]`` has the number of ``prompts`` with any in the period, and ``outside`` it only.

        Raises
        ------
        ConfigError
            When ``days`` is another number.

        Warns
        -----
        NothingMatchesWarning
            Some prompts have judged conversations outside the period only; the message says how many.
        """
        offered = get_args(limits.InsightsDays)
        if str(days) not in offered:
            raise ConfigError(
                f'days must be {", ".join(offered[:-1])} or "all", not {days!r}: the service offers no other period. '
                "For days of your own, count lift.conversations(insights=True, since=…, until=…) with "
                'analysis.completion(df, by="prompt").'
            )
        period: dict[str, Any] = {"days": str(days)}

        def read() -> RowsRead:
            # The ranking comes with any of the agents.
            some = self.client.prompts.list(limit=1).data
            if not some:
                return RowsRead([], 0, 1, complete=True)
            view = self.client.agents.insights(some[0].id, days=days)
            period.update(view.period.to_wire())
            fleet = view.fleet_intelligence
            if fleet is None:
                return RowsRead([], 0, 2)
            everything = (
                view if days == _ALL else self.client.agents.insights(some[0].id, days=_ALL)
            ).fleet_intelligence
            outside = max(0, (everything.agents if everything else 0) - fleet.agents)
            period.update(prompts=fleet.agents, outside=outside)
            rows = [one.to_wire() for one in fleet.ranking]
            return RowsRead(rows, fleet.agents, 2 + (days != _ALL), complete=len(rows) >= fleet.agents)

        frame = self._table("fleet", read, {"days": str(days)})
        frame.attrs["promptlift"]["period"] = period
        if period.get("outside"):
            dates = f" ({period['from'][:10]} to {period['to'][:10]})" if period.get("from") else ""
            warnings.warn(
                f"Left out: {period['outside']:,} of {period['prompts'] + period['outside']:,} prompts, without a judged conversation "
                f'in the last {days} days{dates}. days="all" reads everything.',
                NothingMatchesWarning,
                stacklevel=2,
            )
        return frame

    def _wait_for_verdicts(self, prompt_id: str) -> None:
        """Wait until the conversations of a prompt have the verdicts of its new outcome, or for a minute."""
        deadline = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < deadline:
            counts = self.client.prompts.status(prompt_id).insights
            if counts is None or not counts.again:
                return
            time.sleep(_PAUSE)
