"""``lift.import_files``: the text of an imported prompt is its system prompts as versions, a given one, or not known."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from promptlift.client.api.prompts import Prompts
from promptlift.errors import ConfigError, NotFound
from promptlift.workspace.prompt_names import id_of

FIRST, SECOND = "You help customers. \r\n ☎ {{name}}  ", "You help customers, and you are kind.\n"
DAY = timedelta(days=1)
OCTOBER = datetime(2026, 10, 1, 8, 30, tzinfo=UTC)
_numbers = count(1)


@pytest.fixture
def name():
    return f"Imported {next(_numbers)}"


@pytest.fixture
def imported(lift, name, tmp_path):
    """Import files, or records as one file, and give the lines about it."""

    def run(*sources, prompt=name, **options):
        files = []
        for source in sources:
            if isinstance(source, list):
                file = tmp_path / f"{next(_numbers)}.jsonl"
                file.write_text("".join(json.dumps(one) + "\n" for one in source), encoding="utf-8")
                files.append(file)
            else:
                files.append(source)
        return str(lift.import_files(files, prompt=prompt, **options)) + "\n"

    return run


_salt = count(1)


def talk(text=None, at=None):
    """A conversation of its own that begins with a system prompt, at a time."""
    said = [
        {"role": "user", "content": f"Where is my order {next(_salt)}?"},
        {"role": "assistant", "content": "Here."},
    ]
    if text is not None:
        said.insert(0, {"role": "system", "content": text})
    if at is not None:
        for one in said:
            one["timestamp"] = at.isoformat()
    return {"messages": said}


def texts(lift, name):
    """Numbers, texts and times of the versions of a prompt, the first one first."""
    table = lift.versions(name).sort_values("number")
    return list(zip(table["number"], table["content"], table["created_at"], strict=True))


def live(lift, name):
    return lift.client.prompts.get(id_of(lift, name)).content


def generation(number, prompt, text="You help.", **known):
    """A call as Langfuse has it, of a session of its own."""
    asked = [{"role": "system", "content": text}, {"role": "user", "content": f"Question {number}"}]
    return {
        "type": "GENERATION",
        "trace_id": f"t{next(_salt)}",
        "input": asked,
        "output": "Answer",
        "prompt_name": prompt,
        "prompt_version": 1,
        "start_time": (OCTOBER + number * DAY).isoformat(),
        **known,
    }


def test_one_named_prompt_has_the_given_name_and_the_next_ones_names_of_their_own(imported, lift, name):
    imported([generation(1, "sales")])
    imported([generation(2, "support")])
    assert (len(lift.conversations(name)), len(lift.conversations(f"{name} / support"))) == (1, 1)
    # So does a later import: the prompt remembers which one it is.
    imported([generation(3, "sales"), generation(4, "support")])
    assert (len(lift.conversations(name)), len(lift.conversations(f"{name} / support"))) == (2, 2)


def test_texts_of_one_version_are_a_template_and_those_of_two_are_versions(imported, lift, name):
    texts_1 = ["You help Anna of ACME.", "You help Bob of ACME."]
    records = [generation(n, "support", text) for n, text in enumerate(texts_1)]
    imported([*records, generation(9, "support", "You help Bob of ACME kindly.", prompt_version=2)])
    assert [row[1] for row in texts(lift, name)] == [
        "You help {{value}} of ACME.",
        "You help Bob of ACME kindly.",
    ]


def test_one_text_is_not_given_to_several_prompts(imported, lift, name):
    with pytest.raises(
        ConfigError, match=r"the files name several.*promptlift import --prompt NAME --text FILE"
    ):
        imported([generation(1, "a"), generation(2, "b")], text="You help.")


def test_conversations_without_a_time_are_counted(imported):
    note = "Conversations without a time, dated by their import: 2."
    assert note in imported([talk(), talk(), talk(at=OCTOBER)])
    assert "dated by their import" not in imported([talk(at=OCTOBER)])


def test_conversations_without_one_are_counted(imported, lift, name):
    said = imported([talk(), talk()], [talk(FIRST)])
    assert texts(lift, name)[0][1] == FIRST
    assert f"The text of '{name}' is the system prompt that 1 of 3 conversations begin with.\n" in said


def test_several_are_versions_in_the_order_of_time_and_live_from_their_first_conversation(
    imported, lift, name
):
    later = OCTOBER + 14 * DAY
    records = [
        talk(SECOND, later + DAY),
        talk(FIRST, OCTOBER),
        talk(SECOND, later),
        talk(FIRST, OCTOBER + DAY),
    ]
    said = imported(records)
    assert texts(lift, name) == [(1, FIRST, OCTOBER), (2, SECOND, later)]
    assert live(lift, name) == SECOND
    assert (
        f"The conversations begin with 2 different system prompts. They became versions 1 and 2 of '{name}' "
        "(first seen 2026-10-01, 2026-10-15); the last one is live.\n"
    ) in said
    assert "system prompt" not in imported(records)
    assert len(texts(lift, name)) == 2


def test_the_timeline_counts_conversations_under_the_text_that_they_had(imported, lift, name):
    from promptlift import analysis
    from promptlift.local import wait_for_insights

    later = OCTOBER + 14 * DAY
    imported(
        [talk(FIRST, OCTOBER + n * DAY) for n in range(3)] + [talk(SECOND, later + n * DAY) for n in range(2)]
    )
    wait_for_insights(lift, [name], progress=False)
    timeline = analysis.prompt_timeline(lift.conversations(name, insights=True), versions=lift.versions(name))
    counted = timeline["n"] + timeline["n_missing"] + timeline["n_in_progress"]
    assert counted.tolist() == [3, 2]


def test_without_times_they_are_in_the_order_of_the_file_and_that_is_said(imported, lift, name):
    said = imported([talk(SECOND), talk(FIRST), talk(FIRST, OCTOBER)])
    assert [row[:2] for row in texts(lift, name)] == [(1, SECOND), (2, FIRST)]
    assert "in the order of the files" in said
    assert "first seen" not in said


def test_times_of_the_future_say_nothing(imported, lift, name):
    ahead = datetime.now(UTC) + 30 * DAY
    said = imported([talk(FIRST, OCTOBER), talk(SECOND, ahead)])
    assert [row[:2] for row in texts(lift, name)] == [(1, FIRST), (2, SECOND)]
    assert all(at <= datetime.now(UTC) for _, _, at in texts(lift, name))
    assert "have no usable times" in said


def test_two_in_use_at_once_are_told_apart_from_one_after_the_other(imported, lift, name):
    said = imported([talk((FIRST, SECOND)[n % 2], OCTOBER + n * DAY) for n in range(6)])
    assert texts(lift, name) == [(1, FIRST, OCTOBER), (2, SECOND, OCTOBER + DAY)]
    assert "Their times overlap" in said
    assert "import each under its own name" in said


def filled_in(number):
    return f"You help customer {number} of ACME."


def test_a_template_filled_in_for_each_makes_no_versions(imported, lift, name):
    records = [talk(filled_in(n), OCTOBER + n * timedelta(hours=1)) for n in range(200)]
    said = imported(records)
    assert [row[:2] for row in texts(lift, name)] == [(1, "You help customer {{value}} of ACME.")]
    assert "begin with one system prompt with other values filled in" in said
    assert f"promptlift import --prompt {id_of(lift, name)} --text FILE" in said
    assert "system prompt" not in imported(records)
    assert "system prompt" not in imported([talk(filled_in("unseen"))])


def unlike(number):
    """A text that has nothing in common with those of other numbers."""
    return " ".join(hashlib.sha256(f"{number} {word}".encode()).hexdigest()[:9] for word in range(5))


def test_many_texts_with_nothing_in_common_make_no_versions(imported, lift, name):
    records = [talk(unlike(n), OCTOBER + n * timedelta(hours=1)) for n in range(20)]
    said = imported(records)
    assert [row[:2] for row in texts(lift, name)] == [(1, unlike(19))]
    assert "begin with 20 different system prompts, too many to be versions of one text" in said
    assert f"The text of '{name}' is the newest of them." in said
    assert "system prompt" not in imported(records)


def test_of_many_the_one_of_most_conversations_is_taken(imported, lift, name):
    many = [talk(unlike(n)) for n in range(5)]
    said = imported([talk(FIRST), *many, talk(FIRST)])
    assert live(lift, name) == FIRST
    assert "the one with the most conversations (2 of 7)" in said
    imported(many, prompt=f"{name}, five")
    assert len(texts(lift, f"{name}, five")) == 5


def test_a_text_that_is_known_is_kept_and_the_difference_is_said(imported, lift, name):
    made = lift.client.prompts.create(name=name, content=FIRST, llm_model="gpt-4o-mini")
    said = imported([talk(FIRST)])
    assert "system prompt" not in said
    said = imported([talk(SECOND)])
    assert (
        f"Warning: '{name}' keeps its text, but the conversations begin with a different system prompt. "
        in said
    )
    assert f"lift.update_prompt('{made.id}', content=…)" in said
    assert [row[:2] for row in texts(lift, name)] == [(1, FIRST)]
    lift.client.prompts.update(made.id, content="Edited.")
    said = imported([talk(FIRST), talk("Edited."), talk(SECOND)])
    assert "different system prompt in 1 of 3 cases" in said
    assert live(lift, name) == "Edited."


def test_a_text_alone_needs_no_files(imported, lift, name):
    said = imported([talk(filled_in(1))], text="Another.")
    assert "a different system prompt, which was not used" in said
    prompt_id = id_of(lift, name)
    said = imported(text=FIRST, prompt=prompt_id)
    assert said == f"The text of '{name}' is now that of --text.\n"
    assert imported(text=FIRST) == f"'{name}' has this text already.\n"
    assert [row[:2] for row in texts(lift, name)] == [(1, "Another."), (2, FIRST)]


def test_a_dry_run_says_which_system_prompts_there_are(imported, lift, name):
    said = imported([talk(FIRST, OCTOBER), talk(SECOND, OCTOBER + DAY)], dry_run=True)
    assert "System prompts of the conversations: 2 (first seen 2026-10-01, 2026-10-02)\n" in said
    assert "the text of a new prompt would not be known" in imported([talk()], dry_run=True)
    with pytest.raises(NotFound):
        id_of(lift, name)


def test_a_new_prompt_with_nearly_the_name_of_another_says_so(imported, lift, name):
    made = lift.client.prompts.create(name=f"{name} assistant", content="c", llm_model="gpt-4o-mini")
    said = imported([talk(FIRST)], prompt=f"{name} asistant")
    assert f"If you meant another: '{name} assistant' ({made.id})" in said


def test_a_file_that_cannot_be_read_makes_no_prompt(imported, lift, name, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"messages": []}', encoding="utf-8")
    result = lift.import_files([tmp_path / "a.jsonl", tmp_path / "missing.jsonl"], prompt=name)
    assert (result.complete, result.conversations, result.prompts) == (False, 0, {})
    assert [len(one.reading.problems) for one in result.files] == [1, 1]
    assert result.lines[-1] == "The files contain no conversations that could be logged."
    with pytest.raises(NotFound):
        id_of(lift, name)


def test_two_imports_at_once_into_a_new_name_share_one_prompt(lift, name, imported, monkeypatch):
    create, rivals = Prompts.create, []

    def create_second(prompts, **fields):
        if not rivals:
            rivals.append(create(prompts, **fields))
        return create(prompts, **fields)

    monkeypatch.setattr(Prompts, "create", create_second)
    assert "New prompt" not in imported([talk("You help.")])
    prompts = lift.prompts()
    assert prompts.loc[prompts["name"] == name, "prompt_id"].tolist() == [rivals[0].id]
    assert len(lift.conversations(name)) == 1
