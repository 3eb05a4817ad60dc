"""Find the prompt that a name or an id means, with as few requests as possible."""

from __future__ import annotations

import contextlib
import difflib
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptlift.client.reads.pages import list_page
from promptlift.client.reads.read_list import RowsRead, read_prompts
from promptlift.client.transport import Call, Task
from promptlift.errors import ConfigError, IncompleteError, NotFound
from promptlift.schema import endpoints
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptlift.client.transport import Transport
    from promptlift.workspace.session import Session

    Row = dict[str, Any]

Answer = TypeVar("Answer")

# Ids of the embedded service, which are never names.
_OUR_IDS: Final = re.compile(r"prm_[0-9a-f]{24}")
# Ids of any service. Names may look like this too.
_MAY_BE_ID: Final = re.compile(r"(?=\S*\d)\S+")
# Seconds for which the list of prompts is reused: a second prompt may be given the same name.
_FRESH: Final = 30.0
_MOST_NEAR: Final = 3
_PART_CHARS: Final = 3
_IDS_ALIKE: Final = 0.9
_MOST_LISTED: Final = 20
_PREFIX_CHARS: Final = 8
_REMEMBERED: Final = ("id", "name", "status", "createdAt")


class PromptNames:
    """The prompts of an account by name and id.

    Parameters
    ----------
    transport
        Sends the requests.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._rows: list[Row] = []
        self._read_at: float | None = None
        # What has been an id stays one.
        self._ids: set[str] = set()

    def read(self) -> RowsRead:
        """Read all prompts, and keep them.

        Raises
        ------
        IncompleteError
            When only a part could be read.
        """
        try:
            read = read_prompts(self._transport, task=Task())
        except IncompleteError as error:
            if isinstance(error.fetched, RowsRead):
                self._learn(error.fetched.rows)
            raise
        self._learn(read.rows)
        return read

    def find(self, given: str) -> str | None:
        """Find the id of the prompt that a name or an id means; ``None`` when there is none.

        Archived prompts count only when no other has the name.

        Raises
        ------
        ConfigError
            When nothing was given, or several prompts have the name; the message lists their ids.
        """
        _check_given(given)
        if given in self._ids:
            return given
        if _OUR_IDS.fullmatch(given):
            return given if self.is_there(given) else None
        return self._find_listed(given)

    def known_id(self, given: str) -> str:
        """Find the id of a prompt that must be there.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        ConfigError
            When nothing was given, or several prompts have the name; the message lists their ids.
        """
        found = self.find(given)
        if found is None:
            raise self.unknown(given)
        return found

    def with_name(self, name: str) -> list[str]:
        """Return the ids of the prompts that have a name now, archived ones left out."""
        self._read_at = None
        self._read_unless_fresh()
        named = [row for row in self._rows if row.get("name") == name]
        return [str(row["id"]) for row in named if row.get("status") != "archived"]

    def forget_list(self) -> None:
        """Read the list of prompts anew when it is needed next: a name has changed."""
        self._read_at = None

    def note_id(self, prompt_id: str) -> None:
        """Remember an id that the service itself named, so that it is not looked up."""
        self._ids.add(prompt_id)

    def id_of_filter(self, given: str | None) -> str | None:
        """Return the id to filter by, also of a deleted prompt whose conversations are still there.

        An id of the embedded service is taken as it is; `check_empty` checks it when the answer has no rows.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        """
        if given is None:
            return None
        _check_given(given)
        if given in self._ids or _OUR_IDS.fullmatch(given):
            return given
        found = self._find_listed(given)
        if found is None and self._has_conversations(given):
            self._ids.add(given)
            return given
        if found is None:
            raise self.unknown(given)
        return found

    def check_empty(self, prompt_id: str) -> None:
        """Refuse an empty answer for a prompt that does not exist.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        """
        if not self.is_there(prompt_id):
            raise self.unknown(prompt_id)

    def check_filter(self, prompt_id: str) -> None:
        """Refuse the id of a prompt that does not exist and has no conversations, before anything is read.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        """
        if not self.is_there(prompt_id) and not self._has_conversations(prompt_id):
            raise self.unknown(prompt_id)

    def call(self, given: str, act: Callable[[str], Answer]) -> Answer:
        """Do something that the service itself refuses when there is no such prompt.

        A text that may be an id is tried as one, so an id costs no extra request. Names are looked up in the list of
        prompts, and so are ids that the service does not know: nothing was done then, so it can be tried again.

        Parameters
        ----------
        given
            A name or an id.
        act
            Called with the id.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        """
        _check_given(given)
        if given not in self._ids and not _MAY_BE_ID.fullmatch(given):
            found = self._find_listed(given)
            if found is None and not self.is_there(given):
                raise self.unknown(given)
            return act(found or given)
        try:
            return act(given)
        except NotFound as error:
            # It may be a name, a prompt that was deleted since, or something else that is not there.
            self._ids.discard(given)
            found = self._find_listed(given)
            if found == given or (found is None and self.is_there(given)):
                raise
            if found is None:
                raise self.unknown(given) from error
        return act(found)

    @staticmethod
    def is_our_id(given: str) -> bool:
        """Return whether a text has the form of an id of the embedded service."""
        return _OUR_IDS.fullmatch(given) is not None

    def is_there(self, prompt_id: str) -> bool:
        """Return whether there is a prompt of this id."""
        if prompt_id in self._ids:
            return True
        call = Call.to(endpoints.PROMPTS_GET, self._transport.config.scheme, prompt_id)
        try:
            self._transport.send(call, Task())
        except NotFound:
            return False
        self._ids.add(prompt_id)
        return True

    def near(self, given: str) -> list[str]:
        """Return the names, with ids, of prompts that may have been meant."""
        self._read_unless_fresh()
        by_name: dict[str, list[Row]] = {}
        for row in self._rows:
            by_name.setdefault(_name(row).casefold(), []).append(row)
        by_id = {row["id"]: row for row in self._rows}
        wanted = given.strip().casefold()
        close = difflib.get_close_matches(wanted, by_name, n=_MOST_NEAR)
        close += [name for name in by_name if len(wanted) >= _PART_CHARS and wanted in name]
        rows = {row["id"]: row for name in close for row in by_name[name]}
        # All ids of a service are somewhat alike.
        rows |= {one: by_id[one] for one in difflib.get_close_matches(given, by_id, cutoff=_IDS_ALIKE)}
        return [f"{_name(row)!r} ({row['id']})" for row in list(rows.values())[:_MOST_NEAR]]

    def labels(self, prompt_ids: Iterable[str]) -> dict[str, str]:
        """Return the names of prompts by id; where several have one name, with as much of the id as tells them apart.

        A prompt that is not there any more has no name.

        Raises
        ------
        ApiError
            When the prompts cannot be listed.
        """
        wanted = set(prompt_ids)
        if not wanted <= {row["id"] for row in self._rows}:
            self._read_at = None
        self._read_unless_fresh()
        labels = labels_of_rows(self._rows)
        return {one: labels[one] for one in wanted & labels.keys()}

    def known(self) -> dict[str, str]:
        """Return the labels of the prompts that were listed before, without a request."""
        return {} if self._read_at is None else labels_of_rows(self._rows)

    def unknown(self, given: str) -> NotFound:
        """Return the error that there is no such prompt, with those that there are."""
        near = self.near(given)
        if near:
            return NotFound(f"There is no prompt {given!r}. Did you mean {' or '.join(near)}?")
        names = sorted({_name(row) for row in self._rows if _name(row)})
        more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        there = (
            f"There are: {', '.join(map(repr, names[:_MOST_LISTED]))}{more}. lift.prompts() has their ids."
        )
        if not names:
            there = "There are none yet; `promptlift import` creates them."
        return NotFound(f"There is no prompt {given!r}. {there}")

    def _learn(self, rows: list[Row]) -> None:
        self._rows = [{name: row.get(name) for name in _REMEMBERED} for row in rows]
        self._ids.update(row["id"] for row in rows)
        self._read_at = self._transport.clock.now()

    def _read_unless_fresh(self) -> None:
        if self._read_at is None or self._transport.clock.now() - self._read_at >= _FRESH:
            with contextlib.suppress(IncompleteError):
                self.read()

    def _find_listed(self, given: str) -> str | None:
        before = self._read_at
        self._read_unless_fresh()
        found = self._find_known(given)
        if found is None and before is not None and before == self._read_at:
            # It may have been created since the list was read.
            self._read_at = None
            self._read_unless_fresh()
            found = self._find_known(given)
        return found

    def _find_known(self, given: str) -> str | None:
        if given in self._ids:
            return given
        named = [row for row in self._rows if row.get("name") == given]
        found = [row for row in named if row.get("status") != "archived"] or named
        if len(found) > 1:
            lines = [f"  {row['id']}  created {_created(row)}" for row in found]
            raise ConfigError(
                f"{len(found)} prompts have the name {given!r}. Give the id instead:\n" + "\n".join(lines)
            )
        return str(found[0]["id"]) if found else None

    def _has_conversations(self, prompt_id: str) -> bool:
        """Return whether a prompt has conversations; a service that ignores the filter sends those of others."""
        scheme = self._transport.config.scheme
        call = Call.to(endpoints.CONVERSATIONS_LIST, scheme, query={"prompt_id": prompt_id, "limit": 1})
        try:
            data = self._transport.send(call, Task()).data
        except NotFound:
            return False
        return any(link_of(row) == prompt_id for row in list_page(data, Call(call.method, call.path)).rows)


def id_of(lift: Session, prompt: str) -> str:
    """Return the id of the prompt that a name or an id means, as :meth:`PromptNames.known_id` does."""
    return lift._names.known_id(prompt)  # noqa: SLF001 - of the workspace


def labels_of_rows(rows: Iterable[Row]) -> dict[str, str]:
    """Return the names of the prompts of a list by id, with as much of the id as tells several of one name apart."""
    named: dict[str, list[str]] = {}
    for row in rows:
        if _name(row):
            named.setdefault(_name(row), []).append(row["id"])
    labels: dict[str, str] = {}
    for name, ids in named.items():
        length = _telling_length(ids)
        labels |= {one: name if len(ids) == 1 else f"{name} ({one[:length]})" for one in ids}
    return labels


def _telling_length(ids: list[str]) -> int:
    """Return how many characters of ids tell them apart."""
    longest = max(map(len, ids))
    lengths = range(_PREFIX_CHARS, longest)
    return next((length for length in lengths if len({one[:length] for one in ids}) == len(ids)), longest)


def _check_given(given: Any) -> None:
    if not isinstance(given, str) or not given.strip():
        what = "is empty" if isinstance(given, str) or given is None else f"is a {type(given).__name__}"
        raise ConfigError(
            f"prompt_id {what}; it must be a prompt's name or id. lift.prompts() lists the prompts with both."
        )


def _name(row: Row) -> str:
    name = row.get("name")
    return name if isinstance(name, str) else ""


def _created(row: Row) -> str:
    return str(row.get("createdAt") or "at an unknown time")[:16].replace("T", " ")
