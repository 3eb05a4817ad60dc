"""A prompt's name is taken wherever an id is, and what names no prompt is an error with near names."""

from __future__ import annotations

import importlib
import inspect
import json
from contextlib import suppress
from itertools import count

import pandas as pd
import pytest

import promptlift
from promptlift import plots, report
from promptlift.errors import ConfigError, InvalidState, NotFound
from promptlift.local import wait_for_insights
from promptlift.workspace import Labels, Optimizations, Workspace
from promptlift.workspace.prompt_names import id_of
from support.foreign_optimizations import OptimizationService
from support.foreign_service import KEY, ForeignService

MODEL = "gpt-4o-mini"
LABEL = {"session_id": "s-1", "name": "done", "value": 1, "source": "API", "data_type": "BOOLEAN"}
RECORDS = [
    {"content": f"User: Where is parcel {n}?\nAssistant: Here.\nUser: Thanks", "source_id": f"s-{n}"}
    for n in range(3)
]
_numbers = count(1)


def restore(lift, prompt):
    versions = lift.client.prompts.versions(id_of(lift, NAME[0])).data
    return lift.restore(prompt, versions[0].id).version_id


def optimize(lift, prompt):
    begun = lift.optimize(prompt, variants=1, wait=False)
    with suppress(InvalidState):  # a rehearsal may be at its end already
        begun.stop()
    return begun.prompt_id


def judge(lift):
    return lift.judges.create("polite", "Is the assistant polite?").id


def logged(lift, prompt):
    result = lift.log(RECORDS, prompt_id=prompt)
    return result.already_there


def compared(lift, prompt):
    cut = "2020-01-01"
    return lift.compare((None, cut), (cut, None), prompt=prompt).sentence


def labelled(lift, prompt, folder):
    file = folder.with_suffix(".json")
    file.write_text(json.dumps([LABEL]), encoding="utf-8")
    return list(lift.labels.read(file, prompt)["conversation_id"])


def pulled(lift, prompt, folder):
    with promptlift.open_snapshot(lift.pull(folder / "snapshot", prompt_id=prompt).folder) as snapshot:
        return sorted(snapshot.conversations()["conversation_id"])


def overview(lift, prompt):
    figure = plots.prompt_overview(lift, prompt)
    return [text.get_text() for text in figure.texts][:1]


def written(lift, prompt, folder):
    return report.write(lift, prompt, folder / "r.md", clock=lambda: CLOCK).read_text(encoding="utf-8")


# Each public call that takes a prompt, with what of its answer says which prompt it was.
CALLS = {
    "Workspace.outcomes": lambda lift, one, _: list(lift.outcomes(one)["column"]),
    "Workspace.conversations": lambda lift, one, _: sorted(lift.conversations(one)["conversation_id"]),
    "Workspace.messages": lambda lift, one, _: sorted(lift.messages(one)["content"]),
    "Workspace.update_prompt": lambda lift, one, _: lift.update_prompt(one, description="Same").id,
    "Workspace.atlas": lambda lift, one, _: list(lift.atlas(one).assignments["conversation_id"]),
    "Workspace.topics": lambda lift, one, _: repr(lift.topics(one)),
    "Workspace.why": lambda lift, one, _: lift.why(one).sentence,
    "Workspace.compare": lambda lift, one, _: compared(lift, one),
    "Workspace.this_week": lambda lift, one, _: lift.this_week(one).sentence,
    "Labels.read": labelled,
    "Labels.__call__": lambda lift, one, _: list(lift.labels(one).columns),
    "Workspace.pull": pulled,
    "Workspace.plan": lambda lift, one, _: lift.plan(one, insights=True).rows,
    "Workspace.log": lambda lift, one, _: logged(lift, one),
    "Optimizations.__call__": lambda lift, one, _: len(lift.optimizations(one)) > 0,
    "Workspace.variants": lambda lift, one, _: list(lift.variants(prompt_id=one).columns),
    "Workspace.versions": lambda lift, one, _: list(lift.versions(one)["version_id"]),
    "Workspace.optimize": lambda lift, one, _: optimize(lift, one),
    "Workspace.edits": lambda lift, one, _: list(lift.edits(prompt_id=one).columns),
    "Workspace.plan_optimization": lambda lift, one, _: repr(lift.plan_optimization(one)),
    "Judges.verdicts": lambda lift, one, _: list(lift.judges.verdicts(judge(lift), prompt=one).columns),
    "Workspace.restore": lambda lift, one, _: restore(lift, one),
    "Workspace.live": lambda lift, one, _: lift.live(one).id,
    "Workspace.resolve": lambda lift, one, _: lift.resolve(one, "user-1").content,
    "Workspace.actions": lambda lift, one, _: set(lift.actions(one)["prompt_id"]),
    "plots.prompt_overview": lambda lift, one, _: overview(lift, one),
    "report.write": written,
    "local.wait_for_insights": lambda lift, one, _: wait_for_insights(lift, [one], progress=False),
}
NAME = [""]
CLOCK = pd.Timestamp("2026-11-22T12:00:00Z").to_pydatetime()


@pytest.fixture(scope="module")
def prompt_id(service):
    """A prompt with conversations that have insights, an experiment, an optimization and an action."""
    NAME[0] = f"Support assistant {next(_numbers)} of the names"
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        made = lift.client.prompts.create(name=NAME[0], content="You", llm_model=MODEL)
        lift.update_prompt(made.id, content="You help.")
        lift.live(made.id, {"v1": 0.5}).stop()
        lift.log(RECORDS, prompt_id=made.id)
        wait_for_insights(lift, [made.id], progress=False)
        begun = lift.optimize(made.id, variants=1, wait=False)
        with suppress(InvalidState):  # a rehearsal may be at its end already
            begun.stop()
    return made.id


def takes_a_prompt(function):
    return {"prompt_id", "prompt_ids", "prompt"} & set(inspect.signature(function).parameters)


def test_no_public_call_that_takes_a_prompt_is_missing_here():
    found = {
        f"{owner.__name__}.{name}"
        for owner in (Workspace, Labels, Optimizations)
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if (name == "__call__" or not name.startswith("_")) and takes_a_prompt(method)
    }
    for room in ("plots", "report", "local", "widgets", "analysis", "samples", "transcripts"):
        module = importlib.import_module(f"promptlift.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            is_warning = isinstance(value, type) and issubclass(value, Warning)
            if callable(value) and not is_warning and takes_a_prompt(value):
                found.add(f"{room}.{name}")
    # An import creates the prompt that is not there.
    assert found - {"Workspace.import_files"} == set(CALLS) - {"Judges.verdicts"}


@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_name_is_taken_where_an_id_is_and_a_typo_names_what_was_meant(lift, prompt_id, call, tmp_path):
    typo = NAME[0].replace("assistant", "asistant")
    with pytest.raises(NotFound) as refused:
        CALLS[call](lift, typo, tmp_path)
    assert f"There is no prompt {typo!r}. Did you mean " in str(refused.value)
    assert f"{NAME[0]!r} ({prompt_id})" in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    by_name = CALLS[call](lift, NAME[0], tmp_path)
    assert by_name == CALLS[call](lift, prompt_id, tmp_path)
    assert by_name is not None


# One of each way in which a call asks for the id.
WAYS = ("conversations", "log", "pull", "optimize", "compare")


@pytest.mark.parametrize("call", [*(f"Workspace.{name}" for name in WAYS), "Labels.read", "Judges.verdicts"])
def test_an_id_that_is_not_there_is_an_error_and_nothing_is_no_prompt(lift, prompt_id, call, tmp_path):
    missing = f"prm_{'0' * 24}"
    with pytest.raises(NotFound, match=f"There is no prompt '{missing}'"):
        CALLS[call](lift, missing, tmp_path)
    for given in ("", "  "):
        with pytest.raises((ConfigError, ValueError, NotFound)):
            CALLS[call](lift, given, tmp_path)


def test_a_name_of_two_prompts_is_refused_with_their_ids(service, lift):
    name = f"Twin {next(_numbers)}"
    ids = [lift.client.prompts.create(name=name, content="c", llm_model=MODEL).id for _ in range(2)]
    with pytest.raises(
        ConfigError, match=f"2 prompts have the name '{name}'. Give the id instead"
    ) as refused:
        lift.conversations(name)
    assert all(one in str(refused.value) for one in ids)
    lift.client.prompts.update(ids[0], status="archived")
    with promptlift.connect(service.base_url, service.key) as fresh:
        assert id_of(fresh, name) == ids[1]


def test_conversations_of_a_deleted_prompt_stay_readable_by_its_id(service, lift):
    name = f"Deleted {next(_numbers)}"
    made = lift.client.prompts.create(name=name, content="c", llm_model=MODEL)
    lift.log(RECORDS, prompt_id=name)
    lift.client.prompts.delete(made.id)
    assert len(lift.conversations(made.id)) == 3
    with promptlift.connect(service.base_url, service.key) as fresh:
        assert len(fresh.conversations(made.id)) == 3
        with pytest.raises(NotFound):
            fresh.conversations(name)
        with pytest.raises(NotFound):
            fresh.conversations(made.id, status="abandoned")


def test_tables_know_prompts_by_their_ids(lift, prompt_id, tmp_path):
    table = lift.conversations(prompt_id, insights=True)
    for draw in (
        lambda one: plots.prompt_overview(table, one),
        lambda one: report.write(table, one, tmp_path / "r.md"),
    ):
        with pytest.raises(ValueError, match="The table has no row of prompt 'Support asistant'") as refused:
            draw("Support asistant")
        assert prompt_id in str(refused.value)
    plots.prompt_overview(table, prompt_id)
    plots.prompt_overview(table.head(0), "any")


# Services of others


def opened(service, **options):
    return promptlift.connect(service.base_url, KEY, progress=False, **options)


@pytest.mark.slow
def test_an_id_costs_one_request_in_a_workspace_on_any_service():
    with ForeignService() as service, opened(service) as lift:
        service.fill(3)
        for _ in range(3):
            assert len(lift.conversations("p1")) == 3
        assert [path for _, path, _ in service.seen] == ["/prompts", *["/conversations"] * 3]
        service.seen.clear()
        with pytest.raises(NotFound, match=r"There is no prompt 'q7'. There are: 'n'\. lift\.prompts\(\)"):
            lift.conversations("q7")
        assert len(service.seen) <= 3


def test_a_service_that_ignores_the_filter_gives_no_foreign_rows_for_a_typo():
    with ForeignService() as service, opened(service) as lift:
        service.fill(3)
        service.insert(promptId="gone-1")
        assert len(lift.conversations("gone-1")) == 1
        whole = service.answer
        service.answer = lambda method, path, params, body: whole(
            method, path, {name: value for name, value in params.items() if name != "promptId"}, body
        )
        with pytest.raises(NotFound):
            lift.conversations("support2")


def test_a_name_that_looks_like_an_id_triggers_one_optimization():
    with OptimizationService() as service, opened(service) as lift:
        rows = [{"id": "p1", "name": "support-2", "content": "c", "status": "active"}]
        whole = service.answer
        service.answer = lambda method, path, params, body: (
            service.page(rows, params, ()) if path == "/prompts" else whole(method, path, params, body)
        )
        assert lift.optimize("support-2", wait=False).prompt_id == "p1"
        assert len(service.optimizations) == 1
        with pytest.raises(NotFound, match="Did you mean 'support-2'"):
            lift.optimize("support-22", wait=False)
        assert len(service.optimizations) == 1
