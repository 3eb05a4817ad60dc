"""The notebook's door: every method that names a table gives a DataFrame."""

from __future__ import annotations

import contextlib
import importlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from promptlift.client import Client, ClientConfig, configure
from promptlift.client.logging_run import LoggingRun, LogResult
from promptlift.client.planning import ReadPlan, plan_read
from promptlift.client.reading import ConversationRead, RowsRead, Wanted, read_prompts
from promptlift.client.transport import Task
from promptlift.errors import ConfigError, IncompleteError
from promptlift.schema.limits import PLANS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

    import pandas as pd

    from promptlift.schema.prompts import PromptInsightsView

__all__ = ["LogResult", "ReadPlan", "Workspace", "connect"]

# A read or a run that is shorter shows no progress bar.
_SILENT_SECONDS: Final = 1.0
_RECORDS_HINT = "Give a list of dicts with content or messages, a DataFrame, or what transcripts.read gives."


def connect(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    scheme: str = "prompt",
    progress: bool = True,
) -> Workspace:
    """Open a workspace on a running service. No request is made yet.

    Parameters
    ----------
    base_url
        Address of the service; ``/api/v1`` is added when it is not there. Default: ``PROMPTLIFT_BASE_URL``.
    api_key
        Default: ``PROMPTLIFT_API_KEY``.
    scheme
        ``"prompt"`` or ``"agent"``: what the service calls its main resource on the wire. Tables say ``prompt_id``
        in both.
    progress
        Whether reads that take longer than a second show a progress bar.

    Raises
    ------
    ConfigError
        When the address or the key is missing or cannot be right.
    """
    return Workspace(configure(base_url, api_key, scheme=scheme), progress=progress)


class Workspace:
    """What an analyst holds: the tables of one account, and a way to log conversations.

    Every table has ``df.attrs["promptlift"]``: table, rows, total as the service gave it, filters, fetched_at, requests
    made, whether complete, who analysed (``analyser``), conversations deleted meanwhile, and warnings (unusable
    values by column).

    Parameters
    ----------
    config
        Address, key and naming scheme.
    progress
        Whether reads that take longer than a second show a progress bar.
    client
        A client to use instead of a new one.

    Attributes
    ----------
    client
        Every endpoint of the API, typed.
    """

    def __init__(self, config: ClientConfig, *, progress: bool = True, client: Client | None = None) -> None:
        self.client = client or Client(config)
        self._progress = progress
        self._account_id: str | None = None
        # Where it is remembered what was logged; None is the user's data folder.
        self._ledger_file: Path | None = None

    def __repr__(self) -> str:
        config = self.client.config
        return f"Workspace({config.base_url!r}, scheme={config.scheme.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. The workspace opens new ones when it is used again."""
        self.client.close()

    def prompts(self) -> pd.DataFrame:
        """Give all prompts, one row each.

        Returns
        -------
        DataFrame
            prompt_id, name, status, llm_model, description, tags, temperature, max_tokens, objective, content,
            created_at, updated_at.

        Raises
        ------
        IncompleteError
            When only a part could be read; ``.fetched`` is the table of it.
        """
        return self._table(
            "prompts", {}, lambda _: read_prompts(self.client.transport, task=Task()), _frames().prompts_table
        )

    def conversations(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> pd.DataFrame:
        """Give conversations, one row each, newest first.

        Parameters
        ----------
        prompt_id, status
            Filters; without them all conversations of the account.
        insights
            Join the insights. The embedded service gives them with the list; elsewhere every conversation that has
            insights costs one request, see :meth:`plan`.
        content
            Add the transcript.

        Returns
        -------
        DataFrame
            conversation_id, prompt_id, status, has_insights, created_at, started_at, llm_model, company_name; with
            ``content`` also content; with ``insights`` also sentiment, sentiment_score, task_completed, topics,
            summary, issues, insights_at, analyser. Times are UTC.

        Raises
        ------
        IncompleteError
            When only a part could be read; ``.fetched`` is the table of it.
        """

        def table(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, int]]:
            made: tuple[pd.DataFrame, dict[str, int]] = _frames().conversations_table(
                rows, insights=insights, content=content
            )
            return made

        filters = {"prompt_id": prompt_id, "status": status}
        wanted = Wanted(insights=insights, content=content)
        return self._table(
            "conversations", filters, lambda on_part: self._read(wanted, on_part, **filters), table
        )

    def messages(self, prompt_id: str | None = None) -> pd.DataFrame:
        """Give the messages of conversations, one row each.

        Content that cannot be read gives no rows; ``attrs["promptlift"]["warnings"]`` counts it.

        Parameters
        ----------
        prompt_id
            The prompt; all conversations of the account when it is left out.

        Returns
        -------
        DataFrame
            conversation_id, turn (from 0), role, content, sent_at, model, tokens.
        """
        filters = {"prompt_id": prompt_id}
        return self._table(
            "messages",
            filters,
            lambda on_part: self._read(Wanted(content=True), on_part, **filters),
            _frames().messages_table,
        )

    def insights(self, prompt_id: str | None = None) -> pd.DataFrame:
        """Give the insights of conversations, one row a conversation that has them.

        Parameters
        ----------
        prompt_id
            The prompt; all conversations of the account when it is left out.

        Returns
        -------
        DataFrame
            conversation_id, sentiment, sentiment_score (-1 to 1), task_completed, topics, summary, issues,
            insights_at, analyser.
        """

        def read(on_part: Callable[[list[dict[str, Any]]], None]) -> RowsRead:
            return self._read(Wanted(insights=True), on_part, prompt_id=prompt_id, has_insights=True)

        return self._table("insights", {"prompt_id": prompt_id}, read, _frames().insights_table)

    def prompt_insights(self, prompt_id: str, days: str | int = "30") -> PromptInsightsView:
        """Give the service's own aggregates of a prompt, in one request.

        Parameters
        ----------
        prompt_id
            The prompt.
        days
            7, 30, 90 or ``"all"``.
        """
        return self.client.prompts.insights(prompt_id, days=days)

    def usage(self) -> pd.DataFrame:
        """Give usage of the billing period, one row a resource.

        Returns
        -------
        DataFrame
            resource, used, limit (missing when nothing is limited), running, period_start, period_end.
        """

        def read(_: object) -> RowsRead:
            usage = self.client.usage.get().model_dump(mode="json", by_alias=True)
            return RowsRead([usage], 4, 1, complete=True)

        return self._table("usage", {}, read, lambda rows: _frames().usage_table(rows[0]))

    def plan(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> ReadPlan:
        """Say what :meth:`conversations` with the same arguments will cost: requests and minutes.

        This looks at one row and at the account's plan.

        Parameters
        ----------
        prompt_id, status, insights, content
            As for :meth:`conversations`.
        """
        wanted = Wanted(insights=insights, content=content)
        read = ConversationRead(self.client.transport, wanted, prompt_id=prompt_id, status=status)
        return plan_read(self.client.transport, read, wanted)

    def log(self, records: Any, *, prompt_id: str) -> LogResult:
        """Log conversations, eight at a time.

        A conversation that was logged before is not added again, however often this is called: the idempotency key is made
        from the prompt and the conversation, and a ledger in the user's data folder remembers it for longer than the
        24 hours of the service.

        Parameters
        ----------
        records
            Dicts with ``content`` or ``messages`` (and status, llm_model, company_name, idempotency_key, in
            snake_case or camelCase); or a DataFrame with one row a conversation (``content``) or one row a
            message (``conversation_id``, ``role``, ``content``); or what ``transcripts.read`` gives.
        prompt_id
            The prompt that the conversations were held with.

        Returns
        -------
        LogResult
            Counts, and every record that did not go in with the reason. One that fails does not stop the others. A
            quota that is used up, or a network that is gone, ends the run early; the result says so.

        Raises
        ------
        InvalidApiKey, NotFound
            The key or the prompt is wrong.
        """
        items = _as_records(records)
        if not prompt_id:
            raise ConfigError("prompt_id is empty. lift.prompts() lists the prompts with their ids.")
        if not items:
            return LogResult()
        account_id = self._account()
        with self._bar("conversations logged", len(items)) as move:
            run = LoggingRun(
                self.client.transport,
                prompt_id,
                account_id=account_id,
                ledger_file=self._ledger_file,
                progress=lambda done: move(done, len(items)),
            )
            return run.run(items)

    def _account(self) -> str:
        if self._account_id is None:
            account = self.client.account.get()
            self._account_id = account.id
            rates = {str(name): plan.requests_per_minute for name, plan in PLANS.items()}
            self.client.transport.allow(rates.get(account.plan.name.lower()))
        return self._account_id

    def _read(
        self, wanted: Wanted, on_part: Callable[[list[dict[str, Any]]], None], **filters: Any
    ) -> RowsRead:
        with self._bar("conversations read", None) as move:
            transport = self.client.transport
            return ConversationRead(transport, wanted, progress=move, on_part=on_part, **filters).run()

    def _table(
        self,
        name: str,
        filters: dict[str, Any],
        read: Callable[[Callable[[list[dict[str, Any]]], None]], RowsRead],
        make: Callable[[list[dict[str, Any]]], tuple[pd.DataFrame, dict[str, int]]],
    ) -> pd.DataFrame:
        """Read rows, make the table, and say on it what was done; also for what an incomplete read brought."""
        parts = _frames().Parts(make)

        def finished(rows: RowsRead) -> pd.DataFrame:
            frame: pd.DataFrame
            parts.add(rows.rows)
            frame, warnings = parts.whole()
            frame.attrs["promptlift"] = {
                "table": name,
                "rows": len(frame),
                "total": rows.total,
                "filters": {key: value for key, value in filters.items() if value is not None},
                "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "requests": rows.requests,
                "complete": rows.complete,
                "analyser": _frames().analyser_of(frame),
                "deleted_meanwhile": rows.dropped,
                "warnings": warnings,
            }
            return frame

        try:
            rows = read(parts.add)
        except IncompleteError as error:
            if isinstance(error.fetched, RowsRead):
                error.fetched = finished(error.fetched)
            raise
        return finished(rows)

    @contextlib.contextmanager
    def _bar(self, unit: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
        """Show a progress bar for as long as the block runs, unless it is over in a moment."""
        if not self._progress:
            yield lambda _done, _total: None
            return
        from tqdm.auto import tqdm  # noqa: PLC0415 - looks for widgets when it is loaded

        with tqdm(total=total, unit=f" {unit}", delay=_SILENT_SECONDS, leave=False) as bar:

            def move(done: int, total: int) -> None:
                if bar.total != total:
                    bar.total = total
                bar.update(done - bar.n)

            yield move


def _frames() -> ModuleType:
    """Load the tables on first use: pandas takes longer to load than everything else together."""
    return importlib.import_module("promptlift.frames")


def _as_records(records: Any) -> list[Any]:
    """Give a list of records, whatever the user handed over."""
    conversations = getattr(records, "conversations", None)
    if isinstance(conversations, list | tuple):
        return list(conversations)
    if hasattr(records, "columns") and hasattr(records, "attrs"):
        return list(_frames().records_from(records))
    if isinstance(records, str | bytes | dict):
        raise ConfigError(f"A {type(records).__name__} is not a list of conversations. {_RECORDS_HINT}")
    try:
        return list(records)
    except TypeError:
        raise ConfigError(f"A {type(records).__name__} holds no conversations. {_RECORDS_HINT}") from None
