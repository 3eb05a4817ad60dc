"""``promptlift check``: one line and an exit code, and it fails only where the data are sure."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from promptlift import analysis
from promptlift.cli.check import CANNOT_TELL, FAILS, TOO_FEW
from promptlift.errors import ValidationError
from promptlift.local import local, log_samples, wait_for_insights
from support.command_line import invoke, promptlift_command

pytestmark = pytest.mark.slow

V1, V2 = "Support assistant v1", "Support assistant v2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with the sample conversations; its service runs all the time."""
    found = tmp_path_factory.mktemp("checked")
    with local(found, progress=False) as lift:
        prompts = log_samples(lift, ending=date(2026, 11, 1))
        wait_for_insights(lift, prompts.values(), progress=False)
        yield found


def check(folder, *arguments):
    return invoke("check", *arguments, "--data", folder)


def test_it_fails_only_when_it_is_surely_below_at_any_number_of_checks(folder):
    with local(folder, progress=False) as lift:
        row = analysis.completion(lift.conversations(V2, insights=True)).iloc[0]
    for threshold, code, said in (
        (row["rate"] - 0.001, 0, "not below"),
        (row["rate"] + 0.001, 0, "not surely below"),
        # One look would be sure here, but not each of many.
        (row["rate_high"] + 0.001, 0, "not surely below"),
        (0.95, FAILS, "surely below"),
    ):
        found, line = check(folder, V2, "--fail-below", threshold)
        assert (found, line.count("\n")) == (code, 1)
        assert line.startswith(f"{'FAILED' if code else 'PASSED'} {V2}: {row['rate']:.0%} of {int(row['n'])}")
        assert f"; {said} " in line


def test_it_fails_when_it_is_clearly_worse_than_another(folder):
    code, line = check(folder, V1, "--against", V2)
    assert code == FAILS
    assert "clearly lower" in line
    code, line = check(folder, V2, "--against", V1, "--fail-below", 0.5)
    assert code == 0
    assert "clearly higher" in line
    assert "not below 50%" in line
    # One of both conditions is enough.
    assert check(folder, V1, "--against", V2, "--fail-below", 0.1)[0] == FAILS


def test_too_few_conversations_are_an_exit_code_of_their_own(folder):
    code, line = check(folder, V2, "--fail-below", 0.8, "--period", "2026-10-31..2026-10-31")
    assert code == TOO_FEW
    assert line.startswith(f"TOO FEW {V2}: ")
    assert "a verdict needs 20" in line
    assert check(folder, V2, "--fail-below", 0.1, "--min-conversations", 10_000)[0] == TOO_FEW
    assert "--against 1 is the version that is live" in check(folder, V2, "--against", 1)[1]
    assert "no version '9'" in check(folder, V2, "--against", 9)[1]


GOOD = ("How do I reset my password?", "Click on Forgot password.", "Great, that worked, thank you!")
BAD = ("Cancel my order.", "I cannot do that.", "That did not help, forget it.")


def conversations(day, contents):
    """Conversations that began on a day of September, an hour apart."""
    for number, turns in enumerate(contents):
        start = datetime(2026, 9, day, tzinfo=UTC) + timedelta(hours=number % 24, minutes=number // 24)
        messages = [
            {"role": role, "content": text, "timestamp": (start + timedelta(seconds=place)).isoformat()}
            for place, (role, text) in enumerate(zip(("user", "assistant", "user"), turns, strict=True))
        ]
        yield {"messages": messages, "metadata": {"solved": turns is GOOD}}


@pytest.fixture(scope="module")
def versions(folder):
    """The data folder with a prompt of two versions that both have conversations: the second does worse."""
    with local(folder, progress=False) as lift:
        begun = [datetime(2026, 9, day, tzinfo=UTC) for day in (1, 15)]
        prompt = lift.client.prompts.create(
            name="Bot",
            content="One.",
            llm_model="gpt-4o",
            live_from=begun[0].isoformat(),
            outcome="score.solved",
        )
        lift.client.prompts.update(prompt.id, content="Two.", live_from=begun[1].isoformat())
        for day, contents in ((10, [GOOD] * 36 + [BAD] * 4), (20, [GOOD] * 12 + [BAD] * 28)):
            assert not lift.log(list(conversations(day, contents)), prompt_id="Bot").failed
        wait_for_insights(lift, ["Bot"], progress=False)
    return folder


def test_the_live_version_is_checked_against_an_earlier_one_end_to_end(versions):
    code, line = check(versions, "Bot", "--against", 1)
    assert code == FAILS
    assert line == (
        "FAILED Bot: v2 completes 60 points less than v1 (41 to 75); clearly lower. "
        "60 fewer of 100 users get their task done.\n"
    )
    assert check(versions, "Bot", "--against", 1, "--period", "2026-09-11..2026-09-30")[0] == TOO_FEW
    # The same by its name, as a command of its own; the rate is that of the live version alone.
    done = promptlift_command("check", "Bot", "--against", "v1", "--fail-below", "0.25", "--data", versions)
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (FAILS, 1, "")
    assert "30% of 40 conversations" in done.stdout
    assert "not below 25%" in done.stdout
    with local(versions, progress=False) as lift:
        first, live = lift.versions("Bot").sort_values("number")["version_id"]
        lift.restore("Bot", first, if_version_id=live)
    # The first text is live again, as version 3: nothing was said with it yet.
    code, line = check(versions, "Bot", "--against", 2)
    assert code == TOO_FEW
    assert line.startswith("TOO FEW Bot: v3 and v2 cannot be compared: there are no conversations of v3")


def test_a_failure_names_the_day_from_which_it_dates(versions):
    code, line = check(versions, "Bot", "--fail-below", 0.8)
    assert code == FAILS
    assert line == (
        "FAILED Bot: 60% of 80 conversations completed their task (49% to 70%); surely below 80%: 12 of 40 since "
        "2026-09-20.\n"
    )


def test_the_line_of_the_watch_is_set_and_removed_by_name(versions):
    with local(versions, progress=False) as lift:
        prompt_id = lift.update_prompt("Bot", alert_below=0.8).id
        assert lift.client.prompts.get(prompt_id).alert_below == 0.8
        with pytest.raises(ValidationError) as refused:
            lift.update_prompt("Bot", alert_below=80)
        assert "a rate below 1, such as 0.8, or 0 for none" in refused.value.details["alert_below"]
        lift.update_prompt("Bot", alert_below=0)
        assert lift.client.prompts.get(prompt_id).alert_below is None
        made = lift.create_prompt("Watched", "Text.", llm_model="gpt-4o", alert_below=0.7)
        assert lift.client.prompts.get(made.id).alert_below == 0.7


def test_a_word_list_passes_and_fails_nothing(versions):
    with local(versions, progress=False) as lift:
        lift.update_prompt("Bot", outcome="")
        code, line = check(versions, "Bot", "--fail-below", 0.9)
        against = check(versions, V1, "--against", "Bot")
        lift.update_prompt("Bot", outcome="score.solved")
    assert against == (CANNOT_TELL, f"CANNOT TELL {V1}: {against[1].partition(': ')[2]}")
    assert "cannot be told" in against[1]
    assert code == CANNOT_TELL
    assert line.startswith(
        "CANNOT TELL Bot: whether tasks were completed cannot be told without outcomes, labels or a model."
    )
    assert "lift.update_prompt" in line


def test_wrong_usage_and_an_unknown_prompt(folder):
    code, shown = invoke("check", "A")
    assert (code, "Give --fail-below, --against or both" in " ".join(shown.split())) == (2, True)
    assert V2 in check(folder, "Support asistant v2", "--fail-below", "0.5")[1]
