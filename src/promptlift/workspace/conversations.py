"""Tables of prompts, conversations, messages, insights and usage."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptlift.client.reads.conversations import ConversationRead, Wanted
from promptlift.client.reads.plan_read import ReadPlan, plan_read
from promptlift.client.reads.read_list import RowsRead, stopped_early
from promptlift.errors import ApiError, ConfigError, IncompleteError, PromptliftError
from promptlift.schema.basis import weakest
from promptlift.schema.naming import link_of
from promptlift.workspace.filters import ConversationFilter
from promptlift.workspace.judging.judges import Judges
from promptlift.workspace.judging.labels import Labels
from promptlift.workspace.session import frames
from promptlift.workspace.snapshots.pulling import Pulling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date, datetime

    import pandas as pd

    from promptlift.schema.conversations import Conversation

    Time = str | date | datetime


class ConversationTables(Pulling):
    """Tables of prompts, their conversations and what was derived from them.

    Those of conversations come from the snapshot that is in use, brought up to date first, or from the service.
    """

    @cached_property
    def labels(self) -> Labels:
        """What people say of conversations."""
        return Labels(self)

    @cached_property
    def judges(self) -> Judges:
        """Judges of your own. Offered by the embedded service."""
        return Judges(self)

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
        return self._table("prompts", self._names.read)

    def conversations(
        self,
        prompt_id: str | Sequence[str] | None = None,
        *,
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> pd.DataFrame:
        """Return conversations, one row each, newest first.

        Parameters
        ----------
        prompt_id
            A prompt's name or id, or several; all conversations of the account when it is left out.
        since, until
            Only conversations that started from ``since`` on and before ``until``: a date such as ``"2026-10-01"``, or a
            time (UTC where it has no zone).
        where
            Only conversations with these values: a column and its value, or a list of values, such as
            ``{"metadata.channel": ["web", "app"]}``. A column of lists must contain it; ``None`` is a missing value.
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
            prompt (the name; told apart where two prompts share it, or the rows know several versions), started_at, status,
            title, n_turns, duration_s, cost, latency_ms, tokens, input_tokens, output_tokens, tool_calls, tool_errors, llm_model,
            company_name, has_insights,
            insights_error (why there are no insights, or not yet; ``attrs["promptlift"]["insights_errors"]`` counts
            the reasons; ``attrs["promptlift"]["agreement"]`` has the number of stored labels of a model or learned judge, the
            lower end of its agreement with them, and that of the majority), created_at; with ``content`` also content; with
            ``insights`` also task_completed, sentiment, summary, issues, topics (after the status), quality, sentiment_score,
            insights_at, analyser, basis, completion_chance; then a column ``metadata.…`` for each key of the metadata, typed if all
            its values have one type; last conversation_id, prompt_id, source_id. Times are UTC.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        FrameError
            When ``where`` names a column that there is not; the message has near names.
        ConfigError
            When ``since``, ``until`` or ``where`` cannot be used.
        IncompleteError
            When only a part could be read; ``.fetched`` is the table of it.

        Warns
        -----
        NothingMatchesWarning
            A value of a filter matches no conversation; the message names those that there are.

        Examples
        --------
        >>> lift.conversations("Support assistant", since="2026-10-01", where={"metadata.channel": "web"})  # doctest: +SKIP
        """
        wanted = ConversationFilter.read(since, until, where)
        names = [prompt_id] if prompt_id is None or isinstance(prompt_id, str) else list(prompt_id)
        if not names:
            raise ConfigError("prompt_id is an empty list; leave it out for all prompts.")
        ids = list(dict.fromkeys(self._names.id_of_filter(name) for name in names))
        details = Wanted(insights=insights, content=content)
        table = self._conversations_table(ids, wanted, details, status=status)
        return self._with_agreement(table) if insights else table

    def outcomes(self, prompt_id: str | Sequence[str] | None = None) -> pd.DataFrame:
        """List what the logs say of how conversations ended: scores, rewards, feedback, flags.

        ``lift.update_prompt(prompt_id, outcome=rule)`` makes one of them the verdict of a prompt's conversations.

        Parameters
        ----------
        prompt_id
            A prompt's name or id, or several; all prompts when it is left out.

        Returns
        -------
        DataFrame
            One row a column of :meth:`conversations`, those that most conversations have first: ``column``, ``kind`` (``true or
            false``, ``number``, ``text``), ``n`` conversations that have it and their ``share``; the ``rule`` that reads it as an
            outcome, empty where none is evident, and ``n_true``, those that succeeded by it; the most frequent ``values``.

        Examples
        --------
        >>> lift.outcomes("Support assistant")[["column", "rule", "n", "n_true"]]  # doctest: +SKIP
        """
        from promptlift.analysis.outcomes import log_outcomes  # noqa: PLC0415 - pandas loads when it is used

        return log_outcomes(self.conversations(prompt_id))

    def _conversations_table(
        self, prompt_ids: list[str | None], wanted: ConversationFilter, details: Wanted, *, status: str | None
    ) -> pd.DataFrame:
        """Read the table of conversations from the snapshot in use, or from the service."""
        prompts = prompt_ids[0] if len(prompt_ids) == 1 else prompt_ids
        filters = {"prompt_id": prompts, "status": status, **wanted.record()}
        kept = self._from_snapshot(
            prompt_ids,
            lambda tables: tables.conversations(prompt_ids, wanted, details, status=status, filters=filters),
            content=details.content,
        )
        if kept is not None:
            return self._existing(kept, filters)
        parts = frames().ConversationParts(insights=details.insights, content=details.content)
        prompts_seen: set[str] = set()

        def add(rows: list[dict[str, Any]]) -> None:
            prompts_seen.update(filter(None, map(link_of, rows)))
            parts.add(rows)

        def make(last: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, int]]:
            add(last)
            frame, warnings = parts.whole(self._labels_of(prompts_seen))
            if len(prompt_ids) > 1:
                frame = frame.sort_values("created_at", ascending=False, kind="stable", ignore_index=True)
            return wanted.apply(frame), warnings

        def read() -> RowsRead:
            return self._read_each(details, add, prompt_ids, status)

        return self._table("conversations", read, filters, make=make)

    def _with_agreement(self, conversations: pd.DataFrame) -> pd.DataFrame:
        """Add to the attributes of a table how far kept labels show that the judge of its verdicts is right.

        Only where that decides what may be said: outcomes need no proof, and a word list has none.
        """
        basis = weakest(conversations["basis"].dropna().unique())
        if basis not in ("model", "learned"):
            return conversations
        from promptlift.analysis.corrected import judged_rows  # noqa: PLC0415  pandas loads when it is used

        prompts = conversations["prompt_id"].unique()
        # A table needs no proof of its judge: labels that cannot be read, or are neither yes nor no, prove nothing.
        with contextlib.suppress(PromptliftError, ValueError):
            labels = self.labels(prompt_id=prompts[0] if len(prompts) == 1 else None)
            found = judged_rows(conversations[conversations["basis"] == basis], labels).agreement()
            if found is not None:
                conversations.attrs["promptlift"]["agreement"] = [*found]
        return conversations

    def conversation(self, conversation_id: str) -> Conversation:
        """Return one conversation with its transcript and insights, laid out for reading in a cell.

        Parameters
        ----------
        conversation_id
            An id from a table of conversations.

        Raises
        ------
        NotFound
            If there is no such conversation.

        Examples
        --------
        >>> lift.conversation(df["conversation_id"].iloc[0])  # doctest: +SKIP
        """
        return self.client.conversations.get(conversation_id)

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
            conversation_id, prompt (the name where it is known without a request, as after :meth:`prompts`, else the id), turn
            (from 0), role, content, sent_at, model, tokens.
        """
        filters = {"prompt_id": self._names.id_of_filter(prompt_id)}
        kept = self._from_snapshot(
            [filters["prompt_id"]], lambda tables: tables.messages(filters["prompt_id"]), content=True
        )
        if kept is not None:
            return self._existing(kept, filters)
        parts = frames().Parts(frames().messages_table)

        def make(last: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, int]]:
            parts.add(last)
            whole: tuple[pd.DataFrame, dict[str, int]] = parts.whole()
            return whole

        def read() -> RowsRead:
            return self._read(Wanted(content=True), parts.add, **filters)

        return self._table("messages", read, filters, make=make)

    def usage(self) -> pd.DataFrame:
        """Return the usage of the billing period, one row for each resource.

        Returns
        -------
        DataFrame
            resource, used, limit (missing when nothing is limited), running, period_start, period_end.
        """

        def read() -> RowsRead:
            usage = self.client.usage.get().model_dump(mode="json", by_alias=True)
            return RowsRead([usage], 4, 1, complete=True)

        return self._table("usage", read)

    def plan(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> ReadPlan:
        """Estimate what :meth:`conversations` with the same arguments will cost: requests and minutes.

        This reads a page (with content, one row of it) and the account's plan. The estimate is of a read of the service; with a snapshot in use the call takes
        fewer.

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

    def _read_each(
        self,
        wanted: Wanted,
        on_part: Callable[[list[dict[str, Any]]], None],
        prompt_ids: list[str | None],
        status: str | None,
    ) -> RowsRead:
        """Read the conversations of several prompts, one prompt after the other."""
        whole = RowsRead(complete=True)
        for prompt_id in prompt_ids:
            try:
                one = self._read(wanted, on_part, prompt_id=prompt_id, status=status)
            except IncompleteError as error:
                if isinstance(error.fetched, RowsRead):
                    error.fetched = _joined(whole, error.fetched)
                raise
            except ApiError as error:
                if prompt_id == prompt_ids[0]:
                    raise
                what = f"the conversations of {prompt_ids.index(prompt_id)} of {len(prompt_ids)} prompts"
                whole.complete = False
                raise stopped_early(what, error.message, whole) from error
            whole = _joined(whole, one)
        return whole

    def _read(
        self, wanted: Wanted, on_part: Callable[[list[dict[str, Any]]], None], **filters: Any
    ) -> RowsRead:
        with self._bar("conversations read", None) as move:
            transport = self.client.transport
            return ConversationRead(transport, wanted, progress=move, on_part=on_part, **filters).run()


def _joined(before: RowsRead, more: RowsRead) -> RowsRead:
    joined = RowsRead([*before.rows, *more.rows], before.total + more.total, before.requests + more.requests)
    joined.complete, joined.dropped = before.complete and more.complete, before.dropped + more.dropped
    joined.facts = {**before.facts, **more.facts}
    return joined
