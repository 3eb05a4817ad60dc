from __future__ import annotations

import pytest

from promptlift.service.optimizations.tasks import EditsRequest, ShownConversation
from promptlift.service.optimizations.variants.checks import problems_of
from promptlift.service.rehearsal import Rehearsal
from promptlift.service.rehearsal.causes import CAUSES, Causes
from promptlift.service.rehearsal.conversation import answer_as_assistant
from promptlift.service.rehearsal.lines import kind_of
from promptlift.service.rehearsal.reflection import suspect_causes, word_edit
from promptlift.service.rehearsal.rewrites import REWRITES, rewrite
from promptlift.service.rehearsal.script import SCRIPT
from promptlift.service.rehearsal.truth import Truth
from promptlift.service.simulations.tasks import PromptText

PROMPT = "You help customers of a shop with orders and refunds. Never promise a refund above $50."
OPENINGS = [f"It is about my order {number}" for number in range(400)]


def solved(truth, content, openings=OPENINGS):
    return sum(truth.plan(content, one).solved_in is not None for one in openings) / len(openings)


def curable_seed():
    return next(seed for seed in range(20) if max(Truth(seed).effects.values()) > 1)


def hopeless_seed():
    return next(seed for seed in range(20) if max(Truth(seed).effects.values()) < 0.5)


def with_rules(content=PROMPT):
    return "\n".join([content, *(one.rules[0] for one in CAUSES)])


def shown_as(name, turns, *, completed=False):
    return ShownConversation(name, completed, [], turns)


def failing_conversations(truth, content, openings):
    shown = []
    for number, opening in enumerate(openings):
        if truth.plan(content, opening).solved_in is None:
            messages, failing = [("user", opening)], None
            while failing is None:
                answer = answer_as_assistant(content, messages, truth)
                failing = None if kind_of(answer) in ("asks", "goes on") else kind_of(answer)
                messages += [("assistant", answer), ("user", "Go on, please.")]
            shown.append(shown_as(f"cnv_{number}", messages))
    return shown


def test_a_rule_that_holds_the_cure_mends_the_failures_of_its_cause_and_no_others():
    truth = Truth(curable_seed())
    cause = max(CAUSES, key=lambda one: truth.causes.mended[one.failing])
    of_cause = [one for one in OPENINGS if truth.causes.of(one) == cause.failing]
    others = [one for one in OPENINGS if truth.causes.of(one) != cause.failing]
    mended = f"{PROMPT}\n{cause.rules[0]}"
    assert solved(truth, mended, of_cause) > solved(truth, PROMPT, of_cause) + 0.2
    assert all(truth.chance(mended, one) == truth.chance(PROMPT, one) for one in others)


def test_all_cures_together_gain_much_in_two_of_three_seeds_and_nothing_in_the_others():
    assert solved(Truth(curable_seed()), with_rules()) > solved(Truth(curable_seed()), PROMPT) + 0.15
    none = Truth(hopeless_seed())
    assert all(none.chance(with_rules(), one) == none.chance(PROMPT, one) for one in OPENINGS)


def test_no_text_of_the_rehearsal_mends_by_accident():
    texts = [rewrite(one.name, PROMPT)[0] for one in REWRITES]
    texts += [rule for cause in CAUSES for rule in cause.beside]
    texts += [line for lines in SCRIPT["lines"].values() for line in lines]
    assert not [text for text in texts for cause in CAUSES if cause.is_mended_by(text)]
    for cause in CAUSES:
        for rule in cause.rules:
            assert [one for one in CAUSES if one.is_mended_by(rule)] == [cause]


def test_every_rule_may_be_tested():
    rules = [rule for cause in CAUSES for rule in (*cause.rules, *cause.beside)]
    for rule in rules:
        assert problems_of(f"{PROMPT}\n{rule}", original=PROMPT, others=()) == ()
    spoken = {five for lines in SCRIPT["lines"].values() for line in lines for five in fives(line)}
    assert spoken.isdisjoint(five for rule in rules for five in fives(rule))


def fives(text):
    words = text.casefold().split()
    return list(zip(*(words[at:] for at in range(5)), strict=False))


def test_the_causes_of_a_seed_have_their_shares():
    causes = Causes(3, curable=True)
    counted = [causes.of(one) for one in OPENINGS]
    for failing, share in causes.shares.items():
        assert counted.count(failing) / len(OPENINGS) == pytest.approx(share, abs=0.08)
    most = max(causes.shares, key=causes.shares.get)
    assert causes.mended[most] >= 0.7
    assert sorted(causes.mended.values()) == [0.0, 0.5, 0.7, 0.8]


def test_the_symptom_that_a_conversation_shows_is_that_of_its_cause():
    truth = Truth(4)
    failed = failing_conversations(truth, PROMPT, OPENINGS[:60])
    found = suspect_causes(failed, 4)
    for one in found:
        for conversation, quote in one.quotes:
            assert truth.causes.of(OPENINGS[int(conversation.removeprefix("cnv_"))]) == one.cause.failing
            assert kind_of(quote) == one.cause.failing
    assert sum(len(one.quotes) for one in found) == len(failed)
    counts = [len(one.quotes) for one in found]
    assert counts == sorted(counts, reverse=True)


def test_only_symptoms_that_are_shown_are_found():
    truth = Truth(4)
    failed = failing_conversations(truth, PROMPT, OPENINGS[:60])
    all_found = {one.cause.failing for one in suspect_causes(failed, 4)}
    kept = [one for one in failed if truth.causes.of(one.turns[0][1]) != "vague"]
    assert {one.cause.failing for one in suspect_causes(kept, 4)} == all_found - {"vague"}
    assert suspect_causes([], 4) == []


def test_conversations_of_real_people_give_guesses_with_quotes():
    shown = [
        shown_as("cnv_a", [("user", "Where is my parcel?"), ("assistant", "Ask the post office.")]),
        shown_as("cnv_b", [("user", "Hello?")]),
    ]
    (found,) = suspect_causes(shown, 1)
    assert list(found.quotes) == [("cnv_a", "Ask the post office.")]
    assert suspect_causes(shown, 1) == [found]


def test_a_rule_that_did_not_help_is_replaced_and_a_cured_text_is_left_alone():
    cause = CAUSES[0]
    words = [word_edit(cause, PROMPT, 1, number) for number in range(200)]
    assert {one.operation for one in words} == {"add"}
    assert 0.5 < sum(cause.is_mended_by(one.text) for one in words) / 200 < 0.7
    tried = f"{PROMPT}\n{cause.beside[0]}"
    again = [word_edit(cause, tried, 1, number) for number in range(200)]
    assert {(one.operation, one.anchor) for one in again} == {("replace", cause.beside[0])}
    assert cause.beside[0] not in {one.text for one in again}
    assert sum(cause.is_mended_by(one.text) for one in again) > sum(
        cause.is_mended_by(one.text) for one in words
    )
    assert word_edit(cause, f"{PROMPT}\n{cause.rules[1]}", 1) is None


def written(seed, content, conversations, *, number=1):
    request = EditsRequest(
        prompt=PromptText(content),
        conversations=conversations,
        edits=[],
        intent={},
        general={},
        problems=[],
        seed=number,
    )
    return Rehearsal(seed).write_edits(request).edits


def test_edits_answer_the_symptoms_and_quote_them():
    seed = curable_seed()
    truth = Truth(seed)
    failed = failing_conversations(truth, PROMPT, OPENINGS[:40])
    edits = written(seed, PROMPT, [*failed, shown_as("cnv_ok", [("assistant", "Done.")], completed=True)])
    assert 2 <= len(edits) <= 4
    by_id = {one.id: one for one in failed}
    for edit in edits:
        assert edit.symptom.startswith("Rehearsal: ")
        assert edit.operation == "add"
        assert 1 <= len(edit.evidence) <= 3
        for conversation, quote in edit.evidence:
            assert any(quote in text for _, text in by_id[conversation].turns)
    assert written(seed, PROMPT, failed) == written(seed, PROMPT, failed)
    assert written(seed, PROMPT, []) == []


def test_a_search_that_keeps_what_wins_learns_generation_by_generation():
    gained = []
    for seed in [seed for seed in range(12) if max(Truth(seed).effects.values()) > 1]:
        truth, content, rates = Truth(seed), PROMPT, [solved(Truth(seed), PROMPT)]
        for generation in range(4):
            failed = failing_conversations(truth, content, OPENINGS[10 * generation : 10 * generation + 20])
            for edit in written(seed, content, failed[:8], number=generation):
                tried = (
                    content.replace(edit.anchor, edit.text)
                    if edit.operation == "replace"
                    else f"{content}\n{edit.text}"
                )
                if solved(truth, tried) >= solved(truth, content):
                    content = tried
            rates.append(solved(truth, content))
        assert rates == sorted(rates)
        gained.append(rates[-1] - rates[0])
    assert sum(gained) / len(gained) > 0.12
