"""One pull: what is new or different at the service is staged, then put into the tables of the snapshot."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson
import pyarrow as pa

from promptlift._version import __version__
from promptlift.client.config import is_loopback
from promptlift.client.reads.conversations import Wanted
from promptlift.client.reads.optimizations import read_offered, read_optimizations, read_variants
from promptlift.client.reads.read_list import read_prompts
from promptlift.client.transport import Task
from promptlift.errors import (
    IncompleteError,
    InvalidApiKey,
    NotFound,
    SnapshotBusy,
    SnapshotError,
)
from promptlift.schema import endpoints
from promptlift.schema.account import account_rate
from promptlift.snapshot.columns import to_json
from promptlift.snapshot.manifest import MANIFEST_NAME, Manifest, signing_key
from promptlift.snapshot.snapshot import Snapshot
from promptlift.snapshot.staging import Staging
from promptlift.snapshot.writing import NextState
from promptlift.workspace.snapshots import rows as rows_to_tables
from promptlift.workspace.snapshots.conversation_pull import ConversationPull
from promptlift.workspace.snapshots.known import KnownConversations
from promptlift.workspace.snapshots.offered import OfferedPull

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.client import Client
    from promptlift.snapshot.location import Location
    from promptlift.snapshot.staging import StagedRow
    from promptlift.workspace.snapshots.conversation_pull import Found

    Row = dict[str, Any]
    Progress = Callable[[int, int], None]

# Rows that become tables together.
_ROWS_AT_ONCE: Final = 20_000


@dataclass(frozen=True)
class PullOptions:
    """What a pull is to bring.

    Attributes
    ----------
    prompt_id
        Only conversations of this prompt; all when it is ``None``.
    content
        Whether transcripts are fetched one by one where the list does not bring them; ``None`` takes those that it
        brings.
    everything
        Whether every row is read anew, not only what is seen to be new or different.
    if_changed
        Whether the snapshot stays as it is where no conversation changed.
    """

    prompt_id: str | None = None
    content: bool | None = None
    everything: bool = False
    if_changed: bool = False


class Pull:
    """Bring a snapshot up to date; the caller holds its lock.

    Parameters
    ----------
    client
        Where to read.
    location
        Where the snapshot is.
    options
        What to bring.
    progress
        Called with conversations read and in total.
    service
        Service and account, where an earlier pull of this client has found them out.

    Attributes
    ----------
    service
        Service and account of the snapshot; ``None`` before it is known.
    """

    def __init__(
        self,
        client: Client,
        location: Location,
        options: PullOptions,
        progress: Progress,
        *,
        service: Row | None = None,
    ) -> None:
        self._client = client
        self._transport = client.transport
        self._location, self._folder = location, location.place
        self._options = options
        self._progress = progress
        self._task = Task()
        self.service = service
        self._old = self._snapshot() if location.exists(MANIFEST_NAME) else None
        self._totals: dict[str, int] = {}
        self._warnings: dict[str, dict[str, int]] = {}

    @property
    def requests(self) -> int:
        """Requests made."""
        return self._task.requests

    def run(self) -> Snapshot:
        """Pull.

        Raises
        ------
        SnapshotError
            When the snapshot is of another service, account or filter.
        IncompleteError
            When reading ended early; the next pull continues from there.
        """
        old = self._old
        signer = None if old is None else old.key_to_sign
        service = self.service = self.service or self._service()
        if old is not None:
            self._check_same(old, service)
        content = self._options.content
        if old is not None and _has_rows(old):
            content = old.manifest.content
        key: Row = {"service": service, "prompt_id": self._options.prompt_id, "content": content}
        key |= {"everything": self._options.everything, "pull": 0 if old is None else old.manifest.pulls}
        staging = Staging(self._location, key)
        staging.note(attempts=1 + staging.state.get("attempts", 0))
        known = KnownConversations(old)
        reading = ConversationPull(
            self._transport,
            self._task,
            staging=staging,
            known=known,
            wanted=Wanted(insights=True, content=bool(content), content_if_listed=content is None),
            prompt_id=self._options.prompt_id,
            state={} if old is None else old.manifest.state,
            progress=self._progress,
        )
        try:
            if old is None:
                found = reading.first()
            else:
                found = reading.everything() if self._options.everything else reading.changed()
        except IncompleteError as error:
            raise IncompleteError(
                f"{error} The snapshot stays as it was, and what was read is kept: pull again to go on.",
                fetched=error.fetched,
            ) from error
        finally:
            staging.flush()
        if old is not None and self._options.if_changed and not found.deleted and not staging.any():
            staging.clear()
            return old
        # Only a service of ours says what changed. What was not signed is signed when all of it was read anew.
        if old is None or self._options.everything:
            signer = signing_key(self._api_key())
        if not reading.state.get("as_of"):
            signer = None
        return self._commit(known, staging, reading, found, signer)

    def _api_key(self) -> str:
        return self._client.config.key.reveal()

    def _snapshot(self) -> Snapshot:
        return Snapshot(self._location, api_key=self._api_key())

    # what the service says

    def _service(self) -> Row:
        config = self._client.config
        account_id = None
        try:
            account = self._client.account.get()
        except (InvalidApiKey, NotFound) as error:
            # A key that may not read the account may read conversations; a key that nobody knows may not.
            if error.status == 401:
                raise
        else:
            account_id = account.id
            self._transport.allow(account_rate(account.plan.to_wire()))
        self._task.count()
        if account_id is None and self._old is not None:
            account_id = self._old.manifest.service.get("account_id")
        return {"base_url": config.base_url, "scheme": config.scheme.name, "account_id": account_id}

    def _check_same(self, old: Snapshot, service: Row) -> None:
        was = old.manifest.service
        elsewhere = "Pull into another folder."
        if was["account_id"] not in (None, service["account_id"]):
            raise SnapshotError(
                f"{self._folder} is a snapshot of account {was['account_id']}, and this key belongs to account "
                f"{service['account_id']}. {elsewhere}"
            )
        # unspecified: the embedded service takes any free port, so there the account says that it is the same.
        hosts = [urlsplit(one["base_url"]).hostname or "" for one in (was, service)]
        same_computer = all(map(is_loopback, hosts)) and was["account_id"]
        if was["base_url"] != service["base_url"] and not same_computer:
            raise SnapshotError(
                f"{self._folder} is a snapshot of {was['base_url']}, and this is {service['base_url']}. {elsewhere}"
            )
        if was["scheme"] != service["scheme"]:
            raise SnapshotError(
                f"{self._folder} was pulled with scheme={was['scheme']!r}, and this is scheme={service['scheme']!r}. {elsewhere}"
            )
        prompt_id = old.manifest.filters.get("prompt_id")
        if prompt_id != self._options.prompt_id:
            of = "all prompts" if prompt_id is None else f"prompt {prompt_id}"
            raise SnapshotError(f"{self._folder} has the conversations of {of}. {elsewhere}")
        if self._options.content not in (None, old.manifest.content) and _has_rows(old):
            have = "with" if old.manifest.content else "without"
            raise SnapshotError(
                f"{self._folder} was pulled {have} transcripts, and content={self._options.content} is something else. "
                f"{elsewhere}"
            )

    # into the tables

    def _commit(
        self,
        known: KnownConversations,
        staging: Staging,
        reading: ConversationPull,
        found: Found,
        signer: bytes | None,
    ) -> Snapshot:
        old, service = self._old, self.service or {}
        manifest = old.manifest if old is not None else Manifest(service)
        state = NextState(self._location, manifest.files)
        if old is not None and _has_rows(old):
            content = old.manifest.content
        else:
            wanted = self._options.content
            content = bool(reading.content_listed if wanted is None else wanted)
        changed = self._write_conversations(state, known, staging, found, content=content)
        self._write_prompts(state)
        self._write_optimizations(state)
        offered = OfferedPull(
            self._transport,
            self._task,
            old=old,
            noted=reading.state,
            prompt_id=self._options.prompt_id,
            everything=self._options.everything,
        )
        offered.write_labels(state, found.deleted)
        self._totals |= offered.write_verdicts(state, changed)
        self._write_deleted(state, known, found.deleted)
        self._check_unchanged()
        before = manifest.warnings
        manifest = state.commit(
            replace(
                manifest,
                service=service,
                filters={"prompt_id": self._options.prompt_id},
                content=content,
                totals=self._totals,
                finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
                pulls=manifest.pulls + 1,
                requests=self._task.requests,
                deleted_meanwhile=found.dropped,
                warnings={name: _added(before.get(name, {}), more) for name, more in self._warnings.items()},
                state=reading.state,
                written_by=f"promptlift {__version__}",
            ),
            signer,
        )
        staging.clear()
        return self._snapshot()

    def _check_unchanged(self) -> None:
        """Refuse to write over what another writer did, whose claim was not seen: a store has no locks."""
        now = self._snapshot().manifest if self._location.exists(MANIFEST_NAME) else None
        if now != (None if self._old is None else self._old.manifest):
            raise SnapshotBusy(
                f"{self._folder} was written by another process meanwhile, and stays as that one left it. Pull again."
            )

    def _write_conversations(
        self, state: NextState, known: KnownConversations, staging: Staging, found: Found, *, content: bool
    ) -> set[str]:
        """Write what is new or different, and return which known conversations were replaced or are gone."""
        last = staging.last_places()
        counted = found.present
        stale = found.deleted if counted is None else found.deleted | (last.keys() - set(counted))
        self._totals["conversations"] = len((known.hashes.keys() | last.keys()) - stale - found.deleted)
        positions = known.positions_for(found.order)
        replaced = found.deleted | (last.keys() & known.hashes.keys())
        state.remove(replaced, known.places(replaced))
        number = itertools.count()
        held: list[StagedRow] = []
        for part in staging.rows():
            # A row that was read twice counts as it was read last.
            held += [
                one for one in part if last[one.row["id"]] == next(number) and one.row["id"] not in stale
            ]
            if len(held) >= _ROWS_AT_ONCE:
                self._write_rows(state, held, positions, content=content)
                held = []
        if held:
            self._write_rows(state, held, positions, content=content)
        return replaced

    def _write_rows(
        self, state: NextState, staged: list[StagedRow], positions: dict[str, float], *, content: bool
    ) -> None:
        tables, months, warnings = rows_to_tables.conversation_tables(staged, positions, content=content)
        for name, parts in tables.items():
            for rows in parts:
                state.add(name, rows, months)
        for name, counts in warnings.items():
            self._warnings[name] = _added(self._warnings.get(name, {}), counts)

    def _write_prompts(self, state: NextState) -> None:
        """Write the prompts, those whose text has changed with all their texts where the service offers them."""
        read = read_prompts(self._transport, task=self._task)
        self._totals["prompts"] = len(read.rows)
        before = None if self._old is None else self._old.read("prompts", ["record", "versions"])
        known = {one["record"]: one["versions"] for one in ([] if before is None else before.to_pylist())}
        table, self._warnings["prompts"] = rows_to_tables.prompts_table(read.rows)
        versions = [
            known[record] if record in known else self._versions(row)
            for row, record in zip(read.rows, table["record"].to_pylist(), strict=True)
        ]
        state.set_table("prompts", table.append_column("versions", pa.array(versions, pa.string())))

    def _versions(self, prompt: Row) -> str | None:
        if prompt.get("updatedAt") == prompt.get("createdAt"):
            return None
        try:
            read = read_offered(self._transport, endpoints.PROMPTS_VERSIONS, prompt["id"], task=self._task)
        except NotFound:
            return None
        return to_json(read.rows).decode()

    def _write_optimizations(self, state: NextState) -> None:
        """Write optimizations and their variants; only those whose row is another are read again."""
        try:
            read = read_optimizations(
                self._transport, prompt_id=self._options.prompt_id, results=False, task=self._task
            )
        except NotFound:
            return  # unspecified: a service without optimizations
        items = _known_optimizations(self._old)
        changed = [
            row for row in read.rows if orjson.loads(items.get(row["id"], {}).get("listed", b"null")) != row
        ]
        named = [row if "results" in row else row["id"] for row in changed]
        for item in read_variants(self._transport, named, task=self._task).rows:
            items[item["id"]] = item
        listed = [row for row in read.rows if row["id"] in items]
        whole = [
            {**items[row["id"]], "optimization": {**items[row["id"]]["optimization"], **row}}
            for row in listed
        ]
        self._totals["optimizations"] = len(whole)
        records, self._warnings["optimizations"] = rows_to_tables.optimizations_table(
            [item["optimization"] for item in whole]
        )
        texts = pa.array([to_json(row).decode() for row in listed], pa.string())
        state.set_table("optimizations", records.append_column("listed", texts))
        table, self._warnings["variants"] = rows_to_tables.variants_table(whole)
        state.set_table("variants", table)

    def _write_deleted(self, state: NextState, known: KnownConversations, deleted: set[str]) -> None:
        if not deleted:
            return
        ids = sorted(deleted)
        table = pa.table(
            {
                "conversation_id": pa.array(ids, pa.string()),
                "prompt_id": pa.array([known.place_of(one)[0] for one in ids], pa.string()),
                "noticed_at": pa.array([datetime.now(UTC)] * len(ids), pa.timestamp("us", "UTC")),
            }
        )
        before = None if self._old is None else self._old.read("deleted")
        state.set_table("deleted", table if before is None else pa.concat_tables([before, table]))


def _known_optimizations(old: Snapshot | None) -> dict[str, Row]:
    """Return the optimizations of a snapshot with their variants, by id."""
    optimizations = (
        None if old is None else old.read("optimizations", ["optimization_id", "record", "listed"])
    )
    if old is None or optimizations is None:
        return {}
    items: dict[str, Row] = {
        one["optimization_id"]: {
            "id": one["optimization_id"],
            "optimization": orjson.loads(one["record"]),
            "variants": [],
            "listed": one["listed"],
        }
        for one in optimizations.to_pylist()
    }
    variants = old.read("variants", ["optimization_id", "record"])
    for one in [] if variants is None else variants.to_pylist():
        items[one["optimization_id"]]["variants"].append(orjson.loads(one["record"]))
    return items


def _has_rows(snapshot: Snapshot) -> bool:
    return bool(snapshot.manifest.of_table("conversations"))


def _added(counts: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    return {name: counts.get(name, 0) + more.get(name, 0) for name in counts | more}
