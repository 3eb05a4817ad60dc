"""Tables of prompts, conversations, messages, insights and usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.client.reads.conversations import ConversationRead, Wanted
from promptlift.client.reads.plan_read import ReadPlan, plan_read
from promptlift.client.reads.read_list import RowsRead
from promptlift.workspace.session import Session, frames

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


class ConversationTables(Session):
    """Tables of prompts, their conversations and what was derived from them."""

    def prompts(self) -> pd.DataFrame:
        """Return all prompts, one row each.

        Returns
        -------
        DataFrame
            prompt_id, name, status, llm_model, description, tags, temperature, max_tokens, objective, content
            (missing where the text is not known), created_at, updated_at.

        Raises
        ------
        IncompleteError
            When only a part could be read; ``.fetched`` is the table of it.
        """
        return self._table("prompts", {}, lambda _: self._names.read(), frames().prompts_table)

    def prompt_id(self, prompt: str) -> str:
        """Return the id of a prompt. The methods of the workspace take names as well.

        Parameters
        ----------
        prompt
            A name or an id. An archived prompt counts only when no other has the name.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        ConfigError
            When several prompts have the name; the message lists their ids.

        Examples
        --------
        >>> lift.client.prompts.update(lift.prompt_id("Support assistant"), content="…")  # doctest: +SKIP
        """
        found = self._names.find(prompt)
        if found is None:
            raise self._names.unknown(prompt)
        return found

    def conversations(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> pd.DataFrame:
        """Return conversations, one row each, newest first.

        Parameters
        ----------
        prompt_id
            A prompt's name or id; all conversations of the account when it is left out.
        status
            ``completed``, ``abandoned`` or ``in_progress``; all when it is left out.
        insights
            Join the insights. The embedded service sends them with the list; elsewhere every conversation that has
            insights costs one request, see :meth:`plan`.
        content
            Add the transcript.

        Returns
        -------
        DataFrame
            conversation_id, prompt_id, status, has_insights, created_at, started_at, llm_model, company_name,
            insights_error (why there are no insights, or not yet; ``attrs["promptlift"]["insights_errors"]`` counts
            the reasons); with ``content`` also content; with ``insights`` also sentiment, sentiment_score, task_completed, topics,
            summary, issues, insights_at, analyser. Times are UTC.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        IncompleteError
            When only a part could be read; ``.fetched`` is the table of it.
        """

        def table(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, int]]:
            made: tuple[pd.DataFrame, dict[str, int]] = frames().conversations_table(
                rows, insights=insights, content=content
            )
            return made

        filters = {"prompt_id": self._names.id_of_filter(prompt_id), "status": status}
        wanted = Wanted(insights=insights, content=content)
        return self._table(
            "conversations", filters, lambda on_part: self._read(wanted, on_part, **filters), table
        )

    def messages(self, prompt_id: str | None = None) -> pd.DataFrame:
        """Return the messages of conversations, one row each.

        Content that cannot be read has no rows; ``attrs["promptlift"]["warnings"]`` counts it.

        Parameters
        ----------
        prompt_id
            A prompt's name or id; all conversations of the account when it is left out.

        Returns
        -------
        DataFrame
            conversation_id, turn (from 0), role, content, sent_at, model, tokens.
        """
        filters = {"prompt_id": self._names.id_of_filter(prompt_id)}
        return self._table(
            "messages",
            filters,
            lambda on_part: self._read(Wanted(content=True), on_part, **filters),
            frames().messages_table,
        )

    def insights(self, prompt_id: str | None = None) -> pd.DataFrame:
        """Return the insights of conversations, one row for each conversation that has them.

        Parameters
        ----------
        prompt_id
            A prompt's name or id; all conversations of the account when it is left out.

        Returns
        -------
        DataFrame
            conversation_id, sentiment, sentiment_score (-1 to 1), task_completed, topics, summary, issues,
            insights_at, analyser.
        """
        filters = {"prompt_id": self._names.id_of_filter(prompt_id)}

        def read(on_part: Callable[[list[dict[str, Any]]], None]) -> RowsRead:
            return self._read(Wanted(insights=True), on_part, has_insights=True, **filters)

        return self._table("insights", filters, read, frames().insights_table)

    def usage(self) -> pd.DataFrame:
        """Return the usage of the billing period, one row for each resource.

        Returns
        -------
        DataFrame
            resource, used, limit (missing when nothing is limited), running, period_start, period_end.
        """

        def read(_: object) -> RowsRead:
            usage = self.client.usage.get().model_dump(mode="json", by_alias=True)
            return RowsRead([usage], 4, 1, complete=True)

        return self._table("usage", {}, read, lambda rows: frames().usage_table(rows[0]))

    def plan(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> ReadPlan:
        """Estimate what :meth:`conversations` with the same arguments will cost: requests and minutes.

        This reads one row and the account's plan.

        Parameters
        ----------
        prompt_id, status, insights, content
            As for :meth:`conversations`.
        """
        wanted = Wanted(insights=insights, content=content)
        found = self._names.id_of_filter(prompt_id)
        read = ConversationRead(self.client.transport, wanted, prompt_id=found, status=status)
        plan = plan_read(self.client.transport, read, wanted)
        if not plan.rows and found is not None:
            self._names.check_empty(found)
        return plan

    def _read(
        self, wanted: Wanted, on_part: Callable[[list[dict[str, Any]]], None], **filters: Any
    ) -> RowsRead:
        with self._bar("conversations read", None) as move:
            transport = self.client.transport
            return ConversationRead(transport, wanted, progress=move, on_part=on_part, **filters).run()
