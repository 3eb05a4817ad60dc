from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import pytest

from promptlift.schema.transcript import Message, Transcript
from promptlift.service.insights.judge import SEVERITIES
from promptlift.service.llm.failures import Cancelled
from promptlift.service.optimizations.checks import problems_of
from promptlift.service.optimizations.reflection import EditsRequest, ShownConversation
from promptlift.service.optimizations.variants import STRATEGIES, Strategy, VariantsRequest, write_variants
from promptlift.service.rehearsal import Rehearsal
from promptlift.service.rehearsal.script import RULES, SCRIPT, Script, drawn, kind_of
from promptlift.service.simulations.conversation import simulate
from promptlift.service.simulations.personas import library
from promptlift.service.simulations.scenarios import opening_key, write_scenarios
from promptlift.service.simulations.tasks import PromptText

SHOP = PromptText(
    "You are a support agent of the shop Acme. Please help {{customer_name}} with orders, refunds and delivery. Never "
    'promise a refund above $50. You must always answer within 3 sentences. Be friendly. If the person says "Cancel. '
    'Now." then name help@acme.example and https://acme.example/cancel.',
    objective="Refund and delivery questions are settled",
)
TEXTS = {
    "shop": SHOP.content,
    "one word": "Help",
    "headings": "# Role\nYou book flights for ${airline}.\n\n# Rules\n- Never book without a name.\n- Ask only once.\n",
    "template": "{% if vip %}Greet {{ name }} warmly.{% else %}Be brief. Do not chat.{% endif %} Then answer. Stop.",
    "code": 'Return only JSON like `{"total": 3}` for %s. Do not explain. Do not apologise. Use <LANGUAGE>.',
    "german": "Du bist ein Assistent für Bahnfahrten. Bleibe höflich. Nenne den Preis in 10 € Schritten.",
    "html": "<script>alert(1)</script> You must not run scripts. Answer {question}. Never quote “a secret. Or two.”",
    "long": "Handle claims for [POLICY_NUMBER]. Only quote within 30 days. " * 60,
    "blank lines": "You are calm.\n\n\n   \n\nYou help with taxes.\n",
}


@lru_cache
def situations(seed=5, count=60):
    return write_scenarios(
        Rehearsal(seed), prompt=SHOP, count=count, known=[], personas=library()[:3], seed=seed
    )


def talk(seed, content, number, *, max_turns=8):
    rehearsal = Rehearsal(seed)
    simulated = simulate(
        rehearsal,
        prompt=SHOP,
        content=content,
        persona=library()[number % len(library())],
        scenario=situations()[number],
        max_turns=max_turns,
        seed=number,
    )
    return simulated, rehearsal.judge(simulated.transcript, objective=SHOP.objective, exclusions=None)


# Variants


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_variants_are_real_rewrites_that_pass_the_checks(text):
    seed = len(text) % 3
    prompt = PromptText(text, objective=None)
    written = write_variants(
        Rehearsal(seed), prompt=prompt, count=5, intent=None, failures=[], general={}, seed=seed
    )
    assert (len(written.variants), written.problems) == (5, ())
    assert len({variant.content for variant in written.variants}) == 5
    for variant in written.variants:
        assert len(variant.content) > len(text.strip()) / 2
        assert variant.name.startswith("Rehearsal: ")
        assert "says nothing about a real prompt" in variant.rationale
    # Any rule may be added to any text.
    assert {strategy.name for strategy in STRATEGIES} <= set(RULES)
    added = [f"{text}\n\n{rule}" for rule in RULES.values()]
    for number, content in enumerate(added):
        assert problems_of(content, original=text, others=added[:number]) == ()


def edits_of(conversations, *, content=SHOP.content, seed=1, number=1):
    request = EditsRequest(
        prompt=PromptText(content),
        conversations=conversations,
        edits=[],
        intent={},
        general={},
        problems=[],
        seed=number,
    )
    return Rehearsal(seed).write_edits(request)[0]


def test_edits_answer_the_most_frequent_issues_and_quote_them():
    shown = [
        ShownConversation("a", False, ["Late"], [("user", "Hello?"), ("assistant", "(Rehearsal) Ask the post office.")]),
        ShownConversation("b", False, ["Late"], [("user", "Hi."), ("assistant", "Who knows?")]),
        ShownConversation("c", False, [], [("user", "Hi."), ("assistant", "No.")]),
        ShownConversation("d", False, ["Silence"], [("user", "Hello?")]),
        ShownConversation("e", True, ["Rude"], [("assistant", "Done.")]),
    ]  # fmt: skip
    late, other = edits_of(shown)
    assert [(one.conversation, one.quote) for one in late.evidence] == [
        ("a", "Ask the post office."),
        ("b", "Who knows?"),
    ]
    assert (late.symptom, other.symptom) == ("Rehearsal: Late", "Rehearsal: The matter was left open")
    assert {late.text, other.text} <= set(RULES.values())
    assert late.text != other.text
    assert edits_of(shown) == [late, other]
    # Not what the text holds already, and not always the same.
    assert len({edits_of(shown, number=number)[0].text for number in range(60)}) == len(RULES)
    whole = "\n".join(list(RULES.values())[1:])
    assert [one.text for one in edits_of(shown, content=whole)] == list(RULES.values())[:1]
    assert edits_of([]) == []


# Scenarios


def test_scenarios_are_about_the_prompt_and_never_the_same():
    found = situations()
    assert len({opening_key(one.opening) for one in found}) == len(found) == 60
    said = " ".join(one.opening.lower() for one in found)
    assert all(word in said for word in ("refund", "delivery", "order"))
    assert not any(word in said for word in ("booking", "ticket"))
    assert all(one.title.startswith("Rehearsal: ") for one in found)
    assert len({one.title for one in found}) > 20
    assert len(situations(6, 1_000)) == 1_000


def test_a_prompt_about_nothing_known_gets_everyday_situations():
    written = write_scenarios(
        Rehearsal(1), prompt=PromptText("{{x}}"), count=8, known=[], personas=library()[:1], seed=1
    )
    assert len(written) == 8


# Conversations and judgements


def test_conversations_are_readable_and_say_that_they_are_rehearsed():
    endings, turns = set(), []
    for number in range(40):
        simulated, judgement = talk(5, SHOP.content, number)
        messages = simulated.transcript.messages
        assert [m.role for m in messages[:2]] == ["user", "assistant"]
        assert messages[0].content == situations()[number].opening
        assert messages[1].content.startswith("(Rehearsal) ")
        assert sum("(Rehearsal)" in m.content for m in messages) == 1
        said = [m.content.removeprefix("(Rehearsal) ") for m in messages]
        assert all(one != other for one, other in zip(said, said[2:], strict=False))
        assert "[END]" not in " ".join(m.content for m in messages)
        assert judgement.summary.startswith("Rehearsal: ")
        endings.add(simulated.ended_by)
        turns.append(simulated.turns)
    assert endings == {"persona"}
    assert min(turns) == 1
    assert statistics.mean(turns) > 2


def test_judgements_vary_and_agree_with_the_conversation():
    found = [talk(5, SHOP.content, number)[1] for number in range(60)]
    assert {one.task_completed for one in found} == {True, False}
    assert {one.sentiment for one in found} >= {"positive", "negative"}
    assert len({one.quality for one in found}) > 20
    assert len({issue.title for one in found for issue in one.issues}) == 4
    assert all(issue.evidence for one in found for issue in one.issues)
    done = [one.quality for one in found if one.task_completed]
    missed = [one.quality for one in found if not one.task_completed]
    assert statistics.mean(done) > statistics.mean(missed) + 25
    assert all(one.issues for one in found if not one.task_completed)
    assert all(one.tokens == 0 for one in found)
    severities = [[SEVERITIES.index(issue.severity) for issue in one.issues] for one in found]
    assert severities == [sorted(of_one) for of_one in severities]
    of_one_turn = [talk(5, SHOP.content, number, max_turns=1) for number in range(60)]
    assert {judgement.task_completed for _, judgement in of_one_turn} == {True, False}


@pytest.mark.parametrize("texts", [(), ("x",), ("x", "no line of the rehearsal"), ("", " ")])
def test_a_strange_transcript_is_judged_all_the_same(texts):
    messages = [
        Message(role="assistant" if at % 2 else "user", content=text) for at, text in enumerate(texts)
    ]
    judgement = Rehearsal(1).judge(Transcript(messages=messages), objective=None, exclusions=None)
    assert judgement.task_completed is False
    assert judgement.summary.endswith("The conversation ended there.")


def test_excluded_words_stay_out_of_a_judgement():
    simulated, judgement = talk(5, SHOP.content, 1)
    word = judgement.topics[0]
    cleaned = Rehearsal(5).judge(simulated.transcript, objective=None, exclusions=word)
    assert word not in cleaned.topics
    assert word not in cleaned.summary


# Outcomes


def rate(seed, content, count=400):
    script = Script(seed)
    openings = [f"It is about my order {number}" for number in range(count)]
    return sum(script.plan(content, one).solved_in is not None for one in openings) / count


def helpful_seed():
    return next(seed for seed in range(20) if max(Script(seed).effects.values()) > 1)


def test_in_some_seeds_a_rule_helps_and_in_some_none_does():
    best = [max(Script(seed).effects.values()) for seed in range(300)]
    assert 0.55 < sum(effect > 1 for effect in best) / 300 < 0.78
    unfriendly = sum(Script(seed).unfriendly is not None for seed in range(300)) / 300
    assert 0.08 < unfriendly < 0.27


def test_no_rule_is_favoured():
    wins = [max(Script(seed).effects, key=Script(seed).effects.get) for seed in range(600)]
    shares = [wins.count(name) / 600 for name in RULES]
    assert min(shares) > 0.05
    assert max(shares) < 0.16


def test_what_a_rule_does_shows_in_the_outcomes():
    seed = helpful_seed()
    effects = Script(seed).effects
    best, worst = max(effects, key=effects.get), min(effects, key=effects.get)
    none = next(name for name, effect in effects.items() if effect == 0)
    rates = {name: rate(seed, f"{SHOP.content}\n{RULES[name]}") for name in (best, worst, none)}
    original = rate(seed, SHOP.content)
    assert rates[best] > original + 0.2
    assert rates[worst] < original - 0.1
    assert abs(rates[none] - original) < 0.12


def test_an_unfriendly_rule_solves_more_and_pleases_less():
    seed = next(
        seed for seed in range(100) if Script(seed).unfriendly and max(Script(seed).effects.values()) > 1
    )
    content = f"{SHOP.content}\n{RULES[Script(seed).unfriendly]}"
    curt = [talk(seed, content, number)[1] for number in range(40)]
    kind = [talk(seed, SHOP.content, number)[1] for number in range(40)]
    assert sum(one.task_completed for one in curt) > sum(one.task_completed for one in kind)
    done = [one.sentiment_score for one in curt if one.task_completed]
    assert max(done) < 0
    assert any(issue.title == "Unfriendly tone" for one in curt for issue in one.issues)


# The tasks


def test_an_unknown_strategy_has_a_rewrite_too():
    asked = VariantsRequest(
        prompt=SHOP,
        strategies=[Strategy("Never heard of", "x")],
        intent={},
        failures=[],
        general={},
        accepted=[],
        problems=[],
        drafts=[],
        seed=1,
    )
    (draft,), _ = Rehearsal(1).write_variants(asked)
    assert draft.content.startswith(SHOP.content)
    assert draft.name == "Rehearsal: never heard of"


def test_tasks_are_counted_cost_nothing_and_end_when_the_run_does():
    rehearsal = Rehearsal(1)

    def answer(_):
        return rehearsal.answer_as_assistant(prompt=SHOP, content="x", messages=[("user", "y")])

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(answer, range(64)))
    assert len(set(answers)) == 1
    assert (rehearsal.calls, rehearsal.tokens) == (64, 0)
    rehearsal.cancel()
    with pytest.raises(Cancelled):
        answer(0)
    with pytest.raises(Cancelled):
        rehearsal.judge(Transcript(messages=[]), objective=None, exclusions=None)
    assert rehearsal.calls == 64
    assert repr(Rehearsal(7)) == "Rehearsal(7)"


def test_draws_follow_their_key():
    assert drawn(1, "a").random() == drawn(1, "a").random()
    keys = [("a", "bc"), ("ab", "c"), ("abc",), (1, "abc"), ("\ud800",)]
    assert len({drawn(*key).random() for key in keys}) == len(keys)


def test_no_line_is_of_two_kinds():
    for kind, lines in SCRIPT["lines"].items():
        assert {kind_of(line) for line in lines} == {kind}


def test_the_same_seed_and_task_give_the_same_answer_in_any_process():
    prompt = PromptText("Help with parcels.")
    said = [
        Rehearsal(seed).answer_as_assistant(
            prompt=prompt, content=prompt.content, messages=[("user", "My parcel is late")]
        )
        for seed in range(2)
    ]
    assert [one.text for one in said] == [
        "(Rehearsal) Let us look at it together. Which date or reference is this about?",
        "(Rehearsal) Thank you, that helps. One step is left: is the address on file still the right one?",
    ]
    (written,) = write_scenarios(
        Rehearsal(2), prompt=prompt, count=1, known=[], personas=library()[:2], seed=2
    )
    assert written.opening == "please cancel my parcel 94-3465, thanks, Petra Novak"
