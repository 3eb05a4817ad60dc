"""Judges of one's own and their verdicts in a snapshot."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift import analysis
from promptlift.analysis.reading import rows_with
from promptlift.errors import ConfigError, NotFound
from promptlift.frames.layouts import TABLES
from promptlift.snapshot.scan import scan
from support.answering_model import serving
from support.command_line import promptlift_command
from support.judging_model import QUESTION, JudgingModel, world
from support.service_process import ServiceProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A workspace on a service with two prompts and a judge in two versions, and the folder of the service."""
    with serving(JudgingModel()) as env:
        service = ServiceProcess(tmp_path_factory.mktemp("judged"), env=env).start()
        try:
            with promptlift.connect(service.base_url, service.key, progress=False) as lift:
                texts = list(world(40).texts.values())
                for name, some in (("Support", texts[:25]), ("Sales", texts[25:])):
                    lift.create_prompt(name, "You help.", llm_model="gpt-4o")
                    lift.log([{"content": text} for text in some], prompt_id=name)
                lift.judges.create("refund", QUESTION)
                lift.judges.plan("refund").run()
                lift.judges.edit("refund", rubric="Count vouchers as promises.")
                lift.judges.plan("refund", max_conversations=12).run()
                lift.judges.create("unused", "Was it kind?")
                lift.prompts()
                yield lift, service
        finally:
            service.stop()


CALLS = {
    "newest": {},
    "version": {"version": 1},
    "all versions": {"all_versions": True},
    "of a prompt": {"version": 1, "prompt": "Sales"},
}


def assert_same(opened, lift):
    for options in CALLS.values():
        here, there = opened.judges.verdicts("refund", **options), lift.judges.verdicts("refund", **options)
        pd.testing.assert_frame_equal(here, there)
        assert list(here) == [column.name for column in TABLES["verdicts"]]
        for name in ("table", "rows", "filters", "complete"):
            assert here.attrs["promptlift"][name] == there.attrs["promptlift"][name]


def test_verdicts_are_the_same_from_either_source(judged, tmp_path):
    lift, _ = judged
    lift.pull(tmp_path)
    opened = promptlift.open_snapshot(tmp_path)
    assert_same(opened, lift)
    assert (len(opened.judges.verdicts("refund")), len(opened.judges.verdicts("refund", version=1))) == (
        12,
        40,
    )
    assert opened.judges.verdicts("unused").empty
    pd.testing.assert_frame_equal(opened.judges(), lift.judges())
    pd.testing.assert_frame_equal(opened.judges.versions("refund"), lift.judges.versions("refund"))
    assert opened.judges.get("refund", version=1).rubric is None
    with pytest.raises(NotFound, match="Near names: refund"):
        opened.judges.verdicts("refunds")
    with pytest.raises(NotFound):
        opened.judges.verdicts("refund", version=9)
    with pytest.raises(ConfigError, match="a snapshot is only read"):
        opened.judges.create("other", "Was it long?")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_an_engine_counts_the_verdicts_of_a_snapshot(judged, tmp_path, engine):
    pytest.importorskip(engine, reason=f"the extra {engine} is not installed")
    lift, _ = judged
    lift.pull(tmp_path)
    snapshot = promptlift.open_snapshot(tmp_path).snapshot
    scanned = rows_with(snapshot.scan("verdicts", engine=engine), "judge_version", [1])
    result = analysis.completion(scanned, by="prompt")
    pd.testing.assert_frame_equal(
        result, analysis.completion(lift.judges.verdicts("refund", version=1), by="prompt"), check_dtype=False
    )
    found = analysis.segments(scanned)
    assert set(found["column"]) <= {"prompt", "hour"}
    assert found.attrs["promptlift"]["judge"] == "refund"
    empty = scan(str(tmp_path), [], "verdicts", engine=engine)
    assert analysis.completion(empty)["n"].iloc[0] == 0


def test_a_pull_reads_again_only_what_was_judged_since(judged, tmp_path):
    lift, _ = judged
    first = lift.pull(tmp_path)
    files = {one.path for one in first.manifest.of_table("verdicts")}
    again = lift.pull(tmp_path)
    assert {one.path for one in again.manifest.of_table("verdicts")} == files
    # Judges, the versions of one, and a count of each of the three versions are asked for beside the seven of any pull.
    assert again.manifest.requests <= 7 + 5
    lift.judges.plan("refund", max_conversations=5).run()
    lift.pull(tmp_path)
    assert_same(promptlift.open_snapshot(tmp_path), lift)


def test_a_conversation_that_is_judged_anew_is_noticed_though_the_counts_are_the_same(judged, tmp_path):
    lift, _ = judged
    lift.pull(tmp_path)
    one = lift.judges.verdicts("refund", version=1)["conversation_id"].iloc[-1]
    lift.client.conversations.update(one, content="User: A refund?\nAssistant: The parcel is on its way.")
    lift.judges.plan("refund", version=1).run()
    snapshot = lift.pull(tmp_path)
    assert_same(promptlift.open_snapshot(tmp_path), lift)
    assert snapshot.verify() == {}


def test_a_snapshot_of_one_prompt_has_its_verdicts_alone(judged, tmp_path):
    lift, _ = judged
    lift.pull(tmp_path, prompt_id="Sales")
    opened = promptlift.open_snapshot(tmp_path)
    pd.testing.assert_frame_equal(
        opened.judges.verdicts("refund", version=1), lift.judges.verdicts("refund", version=1, prompt="Sales")
    )


def test_a_judge_that_is_deleted_goes_with_its_verdicts(judged, tmp_path):
    lift, _ = judged
    lift.judges.create("brief", "Was it brief?")
    lift.judges.plan("brief", max_conversations=3).run()
    lift.pull(tmp_path)
    assert len(promptlift.open_snapshot(tmp_path).judges.verdicts("brief")) == 3
    lift.judges.delete("brief")
    lift.pull(tmp_path)
    opened = promptlift.open_snapshot(tmp_path)
    assert set(opened.snapshot.read("verdicts")["judge"].to_pylist()) == {"refund"}
    assert "brief" not in set(opened.judges()["judge"])


def test_an_export_has_labels_and_verdicts_as_a_pull_has(judged, tmp_path):
    lift, service = judged
    ids = lift.judges.verdicts("refund", version=1)["conversation_id"][:2]
    lift.labels.add(pd.DataFrame({"conversation_id": ids, "refund": ["yes", "no"]}), labeller="ann")
    lift.pull(tmp_path / "pulled")
    done = promptlift_command("export", tmp_path / "exported", "--data", service.data)
    assert done.returncode == 0, done.stderr
    here, there = (promptlift.open_snapshot(tmp_path / name) for name in ("exported", "pulled"))
    pd.testing.assert_frame_equal(here.labels(), there.labels())
    assert len(here.labels()) == 2
    for options in CALLS.values():
        pd.testing.assert_frame_equal(
            here.judges.verdicts("refund", **options), there.judges.verdicts("refund", **options)
        )
