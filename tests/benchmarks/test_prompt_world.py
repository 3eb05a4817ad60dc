"""The prompt world is a ruler: its truth is what its conversations come to, and its models do what the truth says."""

from __future__ import annotations

import math

import pytest

from benchmarks.prompt_world.engines import Limits
from benchmarks.prompt_world.measure import (
    anatomy,
    copied_words,
    is_causal,
    measure,
)
from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.vocabulary import CURES, FILLERS, GUESS, RULES, THEMES
from benchmarks.prompt_world.world import FAMILIES, SETTLED, draw_world, simulated_completion
from benchmarks.prompt_world.writer import write_edits, write_prompt
from promptlift import analysis
from promptlift.service.llm.hostile_text import data_block
from support.synthetic_tables import small


@pytest.fixture
def world():
    return draw_world("additive", 5)


def with_rules(world, *numbers, wording=0):
    """The seed prompt with the cures of some modes."""
    rules = [RULES[0].format(cure=world.modes[number].cures[wording]) for number in numbers]
    return "\n".join([world.seed_prompt, *rules])


def opening_that_meets(world, number):
    return f"Hello, Mara Brandt here with order 77123. It also concerns the {world.modes[number].theme}."


def share_settled(world, text, opening, count=300):
    return sum(SETTLED in world.reply(text, opening, toss) for toss in range(count)) / count


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("logged", [True, False])
def test_the_true_completion_is_that_of_drawn_conversations(family, logged):
    world = draw_world(family, 11)
    count = 1_500
    for text in (with_rules(world), with_rules(world, 0, 1, 3), f"{with_rules(world, 0)}\n{FILLERS[0]}"):
        true = world.completion(text, logged=logged)
        error = math.sqrt(true * (1 - true) / count)
        # Of 66 comparisons one is this far off by chance once in 400 runs, and the seed is fixed.
        assert abs(simulated_completion(world, text, count, logged=logged) - true) < 4 * error


@pytest.mark.parametrize("wording", range(len(CURES)))
def test_a_rule_with_any_wording_of_the_cure_mends_its_mode(world, wording):
    mended = with_rules(world, 2, wording=wording)
    opening = opening_that_meets(world, 2)
    assert share_settled(world, world.seed_prompt, opening) < 0.5
    assert share_settled(world, mended, opening) > 0.85
    assert world.gain(mended) > 3
    assert [mode for mode in world.modes if mode not in world.unmended(mended)] == [world.modes[2]]


def finds_cure(world, context, number, *, tries=200, aimed=True):
    """How often the writer writes the cure of a mode when it is shown a context."""
    written = (
        write_edits(world, world.seed_prompt, context, world.rng("try", at), aimed=aimed)
        for at in range(tries)
    )
    return sum(any(world.modes[number].named_in(edit.text) for edit in edits) for edits in written) / tries


def test_the_writer_finds_a_cure_only_when_it_was_shown_the_symptom(world):
    mode = world.modes[0]
    opening = opening_that_meets(world, 0)
    titles = f"Left the {mode.theme} open (40 of 60 failures)"
    assert finds_cure(world, "", 0) == 0
    assert finds_cure(world, f"{opening}\n{titles}", 0) == 0
    transcript = f"user: {opening}\nassistant: I understand, but {mode.symptom}."
    assert 0.6 < finds_cure(world, transcript, 0) < 0.9
    assert finds_cure(world, transcript, 1) == 0
    assert 0 < finds_cure(world, transcript, 0, aimed=False) < 0.3


def test_a_copied_opening_helps_that_customer_and_nobody_else():
    world = draw_world("copy-trap", 2)
    seen = next(one.opening for one in world.log if not one.completed)
    texts = [
        write_prompt(world, world.seed_prompt, f"user: {seen}", world.rng("try", at)) for at in range(40)
    ]
    copying = [text for text in texts if seen.split(".")[0] in text]
    assert len(copying) > 10
    assert share_settled(world, copying[0], seen) == 1
    assert world.gain(copying[0]) <= 0
    assert copied_words(copying[0], [seen], own=world.seed_prompt)


def test_no_rule_repeats_five_words_of_a_conversation():
    """Else an honest rule would count as copied."""
    said = [text for seed in range(3) for one in draw_world("additive", seed).log for _, text in one.messages]
    cures = [cure.format(theme=theme) for cure in CURES for theme in THEMES]
    rules = [rule.format(cure=cure) for rule in RULES for cure in cures]
    guesses = [f"{GUESS.format(theme=theme)}\n{rule.split(',')[0]}" for theme in THEMES for rule in RULES]
    assert copied_words("\n".join([*rules, *guesses, *FILLERS]), said) == ()


def test_the_anatomy_of_a_prompt_tells_cures_from_ballast(world):
    first, other = (RULES[0].format(cure=world.modes[0].cures[at]) for at in (0, 1))
    ballast = FILLERS[0]
    text = f"{world.seed_prompt}\n{first} {ballast}\n{other}"
    found = anatomy(world, text)
    assert {kind: found[kind] for kind in ("cures", "repeats", "idle")} == {
        "cures": 1,
        "repeats": 1,
        "idle": 1,
    }
    assert found["words"] == len(f"{first} {ballast} {other}".split())
    assert found["lean"] == world.gain(f"{world.seed_prompt}\n{first}") > world.gain(text)
    assert anatomy(draw_world("null", 1), text)["cures"] == 0
    assert is_causal(world, text, text.replace(first, ""))
    assert not is_causal(world, text, text.replace(ballast, ""))
    defective = draw_world("defective", 2)
    assert is_causal(defective, world.seed_prompt, defective.seed_prompt)
    assert not is_causal(defective, defective.seed_prompt, defective.seed_prompt)


def judged(world):
    """The logged conversations with what the world's judge says of them, as a table."""
    model = WorldModel(world)
    blocks = [
        data_block([{"role": role, "content": text} for role, text in one.messages], seed=1).text
        for one in world.log
    ]
    found = [
        model._judge({"messages": [{"role": "system", "content": ""}, {"role": "user", "content": block}]})
        for block in blocks
    ]
    return small(
        conversation_id=[str(number) for number in range(len(found))],
        issues=[one["issues"] for one in found],
        task_completed=[one["taskCompleted"] for one in found],
    )


def test_headroom_is_told_from_the_log():
    """No model call is needed to tell worlds without headroom from those with some."""
    for family, told in (("no-headroom", 0), ("additive", 20), ("defective", 20)):
        enough = [analysis.headroom(judged(draw_world(family, seed)))["enough"][0] for seed in range(20)]
        assert abs(sum(enough) - told) <= 2


def test_todays_engine_is_measured_as_users_run_it():
    found = measure("defective", 3, "today", "exploratory")
    # At most 345, and 120 more that verify a win.
    assert 60 <= found.conversations <= 465
    assert found.tokens > 10_000
    assert (found.gain != 0) == found.named
    assert (found.copied, found.lost, found.told_headroom) == ((), (), False)


@pytest.mark.parametrize("family", ["deceptive", "drifted"])
def test_a_search_runs_with_tools_and_with_many_turns(family):
    found = measure(family, 1, "search", "exploratory")
    assert found.named
    assert found.gain > 5
    assert found.words > 0


def test_gepa_is_measured_alone_and_confirmed_within_its_limits():
    pytest.importorskip("benchmarks.prompt_world.gepa_engine", reason="needs the package gepa")
    alone = measure("defective", 3, "gepa", "exploratory", Limits(conversations=60))
    assert 60 <= alone.conversations < 120
    confirmed = measure("defective", 3, "gepa-confirmed", "exploratory", Limits(conversations=60))
    assert confirmed.conversations > alone.conversations
    assert confirmed.gain in (0, alone.gain)
    by_tokens = measure("deceptive", 3, "gepa-tokens", "exploratory", Limits(tokens=100_000))
    assert 100_000 <= by_tokens.tokens < 200_000
