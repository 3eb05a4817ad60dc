"""Snapshots of a service that knows the specification only: complete or not there, with few requests, and resumable."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.client.reads.paging import pages_for
from promptlift.errors import ApiError, IncompleteError, SnapshotError
from promptlift.snapshot import Snapshot
from support.foreign_service import ForeignService, hang_up
from support.pulled import LISTED, answer, assert_same, workspace


@pytest.mark.parametrize(
    ("count", "honours"), [(1000, LISTED), (1000, ()), (250, ("includeInsights",)), (0, LISTED)]
)
@pytest.mark.slow
def test_a_first_pull_brings_everything_and_fetches_only_what_the_list_leaves_out(tmp_path, count, honours):
    with ForeignService(honours=honours) as service:
        service.fill(count // 2)
        service.fill(count - count // 2, insights=False)
        workspace(service).pull(tmp_path)
        # The account, the prompts and the optimizations; insights one by one.
        assert len(service.seen) == pages_for(count) + 3 + (0 if honours else count // 2)
        manifest = Snapshot(tmp_path).manifest
        assert manifest.requests == len(service.seen)
        assert manifest.totals["conversations"] == count
        assert manifest.content == ("includeContent" in honours and count > 0)


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.slow
def test_a_second_pull_reads_the_list_and_the_details_of_what_differs(tmp_path, oldest_first):
    with ForeignService(oldest_first=oldest_first) as service:
        service.fill(1_000)
        lift = workspace(service)
        lift.pull(tmp_path)
        service.fill(20)
        service.rows[500]["status"] = "abandoned"
        service.seen.clear()
        lift.pull(tmp_path)
        assert len(service.seen) == pages_for(1_020) + 21 + 3
        opened = promptlift.open_snapshot(tmp_path).conversations()
        assert list(opened["conversation_id"]) == [row["id"] for row in service.rows]
        assert opened.set_index("conversation_id").loc[service.rows[500]["id"], "status"] == "abandoned"


@pytest.mark.slow
def test_files_without_new_or_changed_rows_stay_and_small_ones_are_merged(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(400)
        lift = workspace(service)
        files = lift.pull(tmp_path).manifest.files
        for number in range(12):
            service.fill(5)
            if number:
                service.rows[7]["status"] = "abandoned"
            snapshot = lift.pull(tmp_path)
        kept = {one for one in files if one.month}
        assert kept <= {*snapshot.manifest.files}
        assert len(snapshot.manifest.of_table("messages")) <= 4
        opened = promptlift.open_snapshot(tmp_path).conversations()
        assert list(opened["status"]) == [row["status"] for row in service.rows]
        assert list(opened["conversation_id"]) == [row["id"] for row in service.rows]


def test_every_row_is_looked_at_again(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(450)
        lift = workspace(service)
        lift.pull(tmp_path)
        # Nothing but the row itself says that it is another.
        service.rows[333]["content"] = '{"messages": [{"role": "user", "content": "changed"}]}'
        gone = {service.rows.pop(place)["id"] for place in (400, 210, 3)}
        snapshot = lift.pull(tmp_path)
        messages = promptlift.open_snapshot(tmp_path).messages().set_index("conversation_id")
        assert messages.loc[service.rows[331]["id"], "content"] == "changed"
        assert set(messages.index) == {row["id"] for row in service.rows}
        assert set(snapshot.read("deleted")["conversation_id"].to_pylist()) == gone


@pytest.mark.parametrize("everything", [False, True])
def test_insights_that_the_list_does_not_show_are_read_again_when_everything_is(tmp_path, everything):
    with ForeignService() as service:
        service.fill(3)
        lift = workspace(service)
        lift.pull(tmp_path)
        before = len(service.seen)
        lift.pull(tmp_path, everything=everything)
        again = [path for _, path, _ in service.seen[before:] if path.endswith("/insights")]
        assert len(again) == 3 * everything


@pytest.mark.parametrize("honours", [LISTED, ()])
@pytest.mark.slow
def test_a_pull_that_failed_goes_on_where_it_was(tmp_path, honours):
    with ForeignService(honours=honours) as service:
        service.fill(700)
        lift = workspace(service)
        lift.pull(tmp_path / "whole")
        whole = len(service.seen)
        service.seen.clear()
        service.fault = lambda _m, _p, count: hang_up if count > whole // 2 else None
        with pytest.raises(IncompleteError, match="pull again to go on"):
            lift.pull(tmp_path / "resumed")
        with pytest.raises(SnapshotError, match="continues the one that was begun there"):
            Snapshot(tmp_path / "resumed")
        service.fault = None
        service.seen.clear()
        lift.pull(tmp_path / "resumed")
        # Half, and what was fetched already behind a row that was not.
        assert len(service.seen) < whole * 0.8
        assert_same(tmp_path / "resumed", tmp_path / "whole")
        assert not (tmp_path / "resumed" / ".pull").exists()


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.slow
def test_details_that_were_fetched_before_a_failure_are_not_fetched_again(tmp_path, changed):
    with ForeignService() as service:
        service.fill(80)
        lift = workspace(service)
        broken = f"/conversations/{service.rows[3]['id']}/insights"
        service.fault = lambda _m, path, _c: hang_up if path == broken else None
        with pytest.raises(IncompleteError, match="pull again to go on"):
            lift.pull(tmp_path)
        service.fault = None
        fetched = {path for _, path, _ in service.seen if path.endswith("/insights")}
        assert len(fetched) == 80
        service.seen.clear()
        if changed:
            # What the list says of them now is something else.
            for row in service.rows[40:43]:
                row["status"] = "abandoned"
        lift.pull(tmp_path)
        again = service.requests("GET", broken)
        details = sum(path.endswith("/insights") for _, path, _ in service.seen)
        assert again == 1
        # Those that were under way when the pull ended, at most.
        assert details <= 1 + 16 + 3 * changed
        opened = promptlift.open_snapshot(tmp_path)
        assert opened.conversations(insights=True)["sentiment"].notna().all()
        assert list(opened.conversations()["status"][40:43]) == ["abandoned" if changed else "completed"] * 3
        assert not (tmp_path / ".pull").exists()


@pytest.mark.parametrize("arrived", [0, 3])
@pytest.mark.slow
def test_rows_that_are_deleted_while_a_first_pull_pauses_are_not_in_the_snapshot(tmp_path, arrived):
    with ForeignService(honours=LISTED) as service:
        service.fill(700)
        lift = workspace(service)
        service.fault = lambda _m, path, count: hang_up if path == "/conversations" and count > 6 else None
        with pytest.raises((IncompleteError, ApiError)):
            lift.pull(tmp_path)
        del service.rows[20:23]  # of the first page, which is kept
        for _ in range(arrived):
            service.insert()
        service.fault = None
        lift.pull(tmp_path)
        found = promptlift.open_snapshot(tmp_path).conversations()
        assert list(found["conversation_id"]) == [row["id"] for row in service.rows]


def test_another_account_address_filter_or_scheme_is_refused(tmp_path):
    with ForeignService() as service, ForeignService(account_id="acc-2") as other:
        service.fill(3)
        lift = workspace(service)
        lift.pull(tmp_path)
        with pytest.raises(SnapshotError, match="account acc-1, and this key belongs to account acc-2"):
            workspace(other).pull(tmp_path)
        with pytest.raises(SnapshotError, match="has the conversations of all prompts"):
            lift.pull(tmp_path, prompt_id="n")
        with pytest.raises(SnapshotError, match="pulled without transcripts, and content=True"):
            lift.pull(tmp_path, content=True)
        assert len(promptlift.open_snapshot(tmp_path).conversations()) == 3


def test_transcripts_are_fetched_where_they_are_asked_for(tmp_path):
    with ForeignService() as service:
        service.fill(12)
        lift = workspace(service)
        lift.pull(tmp_path, content=True)
        assert len(promptlift.open_snapshot(tmp_path).messages()) == 12
        service.fill(1)
        lift.pull(tmp_path)
        assert len(promptlift.open_snapshot(tmp_path).messages()) == 13


def test_without_an_account_the_address_says_what_it_is(tmp_path):
    def refuse(_method, path, _count):
        return answer(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n{}") if path == "/account" else None

    with ForeignService(fault=refuse) as service, ForeignService(fault=refuse) as other:
        service.fill(3)
        workspace(service).pull(tmp_path)
        workspace(service).pull(tmp_path)
        with pytest.raises(
            SnapshotError, match=f"is a snapshot of {service.base_url}, and this is {other.base_url}"
        ):
            workspace(other).pull(tmp_path)


def test_a_service_of_this_computer_may_come_back_on_another_port(tmp_path):
    with ForeignService() as service:
        service.fill(3)
        workspace(service).pull(tmp_path)
    with ForeignService(rows=service.rows) as again:
        again.insert(id="c9")
        workspace(again).pull(tmp_path)
    assert len(promptlift.open_snapshot(tmp_path).conversations()) == 4


@pytest.mark.slow
def test_a_service_that_refuses_what_it_does_not_know_is_pulled_from(tmp_path):
    def picky(_method, path, _count):
        params = service.seen[-1][2]
        known = {"limit", "offset", "status", "hasInsights", "promptId"}
        body = b'{"error": {"code": "VALIDATION_ERROR", "message": "unknown parameter"}}'
        refusal = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        return answer(refusal) if path == "/conversations" and params.keys() - known else None

    with ForeignService(fault=picky) as service:
        service.fill(130)
        lift = workspace(service)
        lift.pull(tmp_path)
        service.fill(2)
        lift.pull(tmp_path)
        found = promptlift.open_snapshot(tmp_path).conversations(insights=True)
        assert len(found) == 132
        assert found["sentiment"].notna().all()


class KnowingService(ForeignService):
    """A service that knows when rows changed, once it has learned it; a row's time is its ``at``."""

    knows = False
    now = 0

    def page(self, rows, params, honours):
        since = params.get("updatedSince")
        if self.knows and since is not None:
            after = 0 if since.startswith("1970") else int(since[20:-1])
            rows = [row for row in rows if row.get("at", 0) >= after]
        status, page = super().page(rows, params, honours)
        if self.knows and since is not None:
            page["asOf"] = f"2026-01-01T00:00:00.{self.now:06d}Z"
        return status, page

    def answer(self, method, path, params, body):
        if path == "/conversations/deleted":
            return 200, {"data": [], "pagination": {"total": 0, "limit": 100, "offset": 0}}
        return super().answer(method, path, params, body)


@pytest.mark.slow
def test_a_service_that_learns_to_say_what_changed_is_read_once_and_then_asked(tmp_path):
    with KnowingService(honours=LISTED) as service:
        service.fill(450)
        lift = workspace(service)
        lift.pull(tmp_path)
        for number, place in enumerate((333, 210), 1):
            service.knows, service.now = True, number
            service.rows[place]["content"] = '{"messages": [{"role": "user", "content": "changed"}]}'
            service.rows[place]["at"] = number
            lift.pull(tmp_path)
            messages = promptlift.open_snapshot(tmp_path).messages().set_index("conversation_id")
            assert messages.loc[service.rows[place]["id"], "content"] == "changed"
        assert Snapshot(tmp_path).manifest.requests <= 6
        # What the answers do not explain is looked for everywhere.
        del service.rows[100]
        lift.pull(tmp_path)
        assert len(promptlift.open_snapshot(tmp_path).conversations()) == 449


def test_odd_values_are_kept(tmp_path):
    with ForeignService() as service:
        service.fill(2)
        service.rows[0] |= {
            "content": "not a transcript, no labels",
            "createdAt": None,
            "promptId": "a/b=c %",
        }
        for row in service.rows:
            del row["hasInsights"]  # the list has every field of such a row
        service.rows[1] |= {
            "huge": 10**30,
            "nested": {"a": [1, {"b": None}]},
            "metadata": {"n": 10**25, "t": True},
        }
        lift = workspace(service)
        lift.pull(tmp_path)
        here, there = promptlift.open_snapshot(tmp_path).conversations(), lift.conversations(content=True)
        assert list(here["conversation_id"]) == list(there["conversation_id"])
        assert list(here["prompt_id"]) == list(there["prompt_id"]) == ["a/b=c %", "p1"]
        assert here["metadata.n"].tolist()[1] == there["metadata.n"].tolist()[1]
        assert Snapshot(tmp_path).manifest.of_table("conversations")[0].prompt_id in ("a/b=c %", "p1")
        assert lift.pull(tmp_path).verify() == {}
