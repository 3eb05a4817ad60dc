"""What an account holds, at a glance: one request, and a bounded time whatever the service does."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.pages import list_page
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Call, Task
from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import ConnectionFailed
from promptlift.schema import endpoints
from promptlift.schema.prompts import PromptCompletion
from promptlift.workspace.prompt_names import labels_of_rows

if TYPE_CHECKING:
    from promptlift.client.connection import Connection
    from promptlift.client.transport import Transport

    Row = dict[str, Any]

# A cell that shows a workspace waits no longer than this for its service.
_SECONDS: Final = 3.0
# Enough for a connection lost while idle; a service that is down is reported.
_RETRIES: Final = RetryPolicy(timeout=0.5, first_timeout=0.5, rate_timeout=0.5)
_SHOWN: Final = 10
# A person types the id of a prompt with a longer name.
_TYPED: Final = 80
_COMPLETION: Final = ("conversations", "judged", "rate", "rate_low", "rate_high", "basis")
_WEEK: Final = timedelta(days=7)
# Two texts with as many words in a row in common are versions of one.
_RUN_OF_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class PromptGlance:
    """One prompt; None stands for what the service does not say.

    Attributes
    ----------
    label
        Its name, told apart from prompts of the same name.
    reference
        What the methods of a workspace take: its name, or its id where another prompt has the name or nobody can type it.
    place
        Its place in the list of prompts, which is newest first.
    text
        Its text; empty where it is not known.
    without_insights
        Conversations that have no insights, or not yet.
    judged
        Ended conversations with insights, of which ``rate`` percent completed their task.
    basis
        What these verdicts rest on.
    weeks
        Judged and completed conversations of each of the last weeks, the oldest first.
    weeks_end
        The day after the last of them; the weeks of all prompts are the same.
    optimizing
        Ids of its optimizations that are running or queued.
    """

    label: str
    reference: str
    place: int
    text: str = ""
    conversations: int | None = None
    without_insights: int | None = None
    judged: int | None = None
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    basis: str | None = None
    weeks: tuple[tuple[int, int], ...] = ()
    weeks_end: date | None = None
    optimizing: tuple[str, ...] = ()

    def text_shared_with(self, other: PromptGlance) -> int:
        """Return how much the texts of two prompts have in common: much for versions of one prompt."""
        return len(_runs(self.text) & _runs(other.text))


@dataclass(frozen=True, slots=True)
class Glance:
    """What an account holds.

    Attributes
    ----------
    place
        Where the data are.
    problem
        Why nothing can be shown; empty where something can.
    prompts
        The prompts with the most conversations.
    prompt_count
        All prompts of the account.
    listed
        Prompts that were looked at: the newest hundred at most.
    weeks_end
        The day after the last of their weeks.
    optimizing
        Ids of the optimizations that are running or queued, each with the label of its prompt.
    """

    place: str
    problem: str = ""
    prompts: tuple[PromptGlance, ...] = ()
    prompt_count: int = 0
    listed: int = 0
    weeks_end: date | None = None
    optimizing: tuple[tuple[str, str], ...] = ()
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def conversations(self) -> int:
        """Conversations of the prompts that are shown."""
        return sum(one.conversations or 0 for one in self.prompts)

    def comparable(self) -> tuple[PromptGlance, PromptGlance] | None:
        """Return the two judged prompts that share the most text, the older one first; ``None`` where no two share any."""
        judged = [one for one in self.prompts if one.rate is not None]
        pairs = itertools.combinations(judged, 2)
        alike = max(pairs, key=lambda pair: pair[0].text_shared_with(pair[1]), default=None)
        if alike is None or not alike[0].text_shared_with(alike[1]):
            return None
        # The list is newest first.
        newer, older = sorted(alike, key=lambda one: one.place)
        return older, newer


def take_glance(transport: Transport, place: str) -> Glance:
    """Look at an account in one request.

    Parameters
    ----------
    place
        Where the data are, in words.

    Raises
    ------
    ApiError
        When the prompts cannot be read. A malformed answer may raise any other error.
    """
    query = {"limit": 100, "include_completion": True}
    call = Call.to(endpoints.PROMPTS_LIST, transport.config.scheme, query=query)
    page = list_page(_ask(transport, call), call)
    labels = labels_of_rows(page.rows)
    prompts = [_prompt(row, labels, number) for number, row in enumerate(page.rows)]
    return Glance(
        place,
        prompts=tuple(sorted(prompts, key=lambda one: -(one.conversations or 0))[:_SHOWN]),
        prompt_count=page.total,
        listed=len(page.rows),
        weeks_end=next((one.weeks_end for one in prompts if one.weeks_end), None),
        optimizing=tuple((one, prompt.label) for prompt in prompts for one in prompt.optimizing),
    )


def _ask(transport: Transport, call: Call) -> Any:
    """Send a call, and return its answer in bounded time, whatever the network does."""

    def work(call: Call, connection: Connection) -> Any:
        return transport.send(call, task, connection=connection).data

    task = Task(policy=_RETRIES)
    with WorkerPool(transport, work, task=task, threads=1) as pool:
        pool.submit(call)
        for _, data, error in pool.results(until=time.monotonic() + _SECONDS):
            if error is not None:
                raise error
            return data
        raise ConnectionFailed(
            f"No answer from {transport.config.base_url} in time. Try again, or check whether the service runs",
            request=call.label,
        )


def _prompt(row: Row, labels: dict[str, str], place: int) -> PromptGlance:
    prompt_id: str = row["id"]
    label = labels.get(prompt_id, prompt_id)
    can_be_typed = label == row.get("name") and label.isprintable() and len(label) <= _TYPED
    content = row.get("content") if row.get("contentKnown") is not False else None
    text = content if isinstance(content, str) else ""
    known: dict[str, Any] = {}
    if isinstance(row.get("completion"), dict):
        completion = PromptCompletion.from_wire(row["completion"])
        known = {name: getattr(completion, name) for name in _COMPLETION}
        known["without_insights"] = completion.conversations - completion.with_insights
        known["weeks"] = tuple((week.judged, week.completed) for week in completion.weeks)
        known["weeks_end"] = (completion.weeks[-1].from_ + _WEEK).date() if completion.weeks else None
        known["optimizing"] = tuple(completion.optimizing)
    return PromptGlance(label, label if can_be_typed else prompt_id, place, text, **known)


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of so many words of a text; a shorter text is one."""
    words = text.split()
    return {
        tuple(words[start : start + _RUN_OF_WORDS]) for start in range(max(1, len(words) - _RUN_OF_WORDS + 1))
    } - {()}
