from __future__ import annotations

import statistics
from functools import lru_cache

import pytest

from promptlift.schema.insights import SEVERITIES
from promptlift.service.insights.organization import Organization
from promptlift.service.optimizations.checks import problems_of
from promptlift.service.optimizations.reflection import EditsRequest, ShownConversation
from promptlift.service.optimizations.variants import STRATEGIES, write_variants
from promptlift.service.rehearsal import RULES, Rehearsal, Script
from promptlift.service.search.choice import Seen
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


def scenarios(seed, prompt, count):
    request = {"known": [], "personas": library()[:2], "organization": Organization(), "exclusions": None}
    return write_scenarios(Rehearsal(seed), prompt=prompt, count=count, seed=seed, **request)


@lru_cache
def situations(seed=5, count=60):
    return scenarios(seed, SHOP, count)


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


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_variants_are_real_rewrites_that_pass_the_checks(text):
    seed = len(text) % 3
    prompt = PromptText(text, objective=None)
    written = write_variants(
        Rehearsal(seed), prompt=prompt, count=5, intent=None, failures=[], general={}, seed=seed
    )
    assert (len(written.variants), written.problems) == (5, ())
    for variant in written.variants:
        assert variant.name.startswith("Rehearsal: ")
        assert "says nothing about a real prompt" in variant.rationale
    # Any rule may be added to any text.
    assert {strategy.name for strategy in STRATEGIES} <= set(RULES)
    added = [f"{text}\n\n{rule}" for rule in RULES.values()]
    for number, content in enumerate(added):
        assert problems_of(content, original=text, others=added[:number]) == ()


def edits_of(conversations, *, content=SHOP.content, number=1):
    rest = {"edits": [], "intent": {}, "general": {}, "problems": []}
    request = EditsRequest(PromptText(content), conversations, **rest, seed=number)
    return Rehearsal(1).write_edits(request)[0]


def test_edits_answer_the_most_frequent_issues_and_quote_them():
    ended = [
        (False, ["Late"], [("user", "Hello?"), ("assistant", "(Rehearsal) Ask the post office.")]),
        (False, ["Late"], [("user", "Hi."), ("assistant", "Who knows?")]),
        (False, [], [("user", "Hi."), ("assistant", "No.")]),
        (False, ["Silence"], [("user", "Hello?")]),
        (True, ["Rude"], [("assistant", "Done.")]),
    ]
    shown = [
        ShownConversation(name, Seen(f"conv_{name}", completed, tuple(issues)), turns)
        for name, (completed, issues, turns) in zip("abcde", ended, strict=True)
    ]
    late, other = edits_of(shown)
    assert [(one.conversation, one.quote) for one in late.evidence] == [
        ("a", "Ask the post office."),
        ("b", "Who knows?"),
    ]
    assert (late.symptom, other.symptom) == ("Rehearsal: Late", "Rehearsal: The matter was left open")
    assert late.text != other.text
    # Not what the text holds already, and not always the same.
    assert {edits_of(shown, number=number)[0].text for number in range(60)} == set(RULES.values())
    whole = "\n".join(list(RULES.values())[1:])
    assert [one.text for one in edits_of(shown, content=whole)] == list(RULES.values())[:1]
    assert edits_of([]) == []


def test_scenarios_are_about_the_prompt_and_never_the_same():
    found = situations()
    assert len({opening_key(one.opening) for one in found}) == len(found) == 60
    said = " ".join(one.opening.lower() for one in found)
    assert all(word in said for word in ("refund", "delivery", "order"))
    assert not any(word in said for word in ("booking", "ticket"))
    assert all(one.title.startswith("Rehearsal: ") for one in found)
    assert len(situations(6, 1_000)) == 1_000
    # A prompt about nothing known gets everyday situations.
    assert len(scenarios(1, PromptText("{{x}}"), 8)) == 8


def test_conversations_are_readable_say_that_they_are_rehearsed_and_are_judged_by_how_they_end():
    found = []
    for number in range(60):
        simulated, judgement = talk(5, SHOP.content, number)
        messages = simulated.transcript.messages
        assert messages[0].content == situations()[number].opening
        assert messages[1].content.startswith("(Rehearsal) ")
        assert sum("(Rehearsal)" in m.content for m in messages) == 1
        said = [m.content.removeprefix("(Rehearsal) ") for m in messages]
        assert all(one != other for one, other in zip(said, said[2:], strict=False))
        assert simulated.ended_by == "persona"
        assert judgement.summary.startswith("Rehearsal: ")
        severities = [-SEVERITIES.index(issue["severity"]) for issue in judgement.issues]
        assert severities == sorted(severities)
        assert all(issue["evidence"] for issue in judgement.issues)
        assert judgement.task_completed or judgement.issues
        found.append(judgement)
    assert {one.task_completed for one in found} == {True, False}
    assert len({one.quality for one in found}) > 20
    assert len({issue["title"] for one in found for issue in one.issues}) == 4
    done = [one.quality for one in found if one.task_completed]
    missed = [one.quality for one in found if not one.task_completed]
    assert statistics.mean(done) > statistics.mean(missed) + 25
    of_one_turn = [talk(5, SHOP.content, number, max_turns=1)[1] for number in range(60)]
    assert {judgement.task_completed for judgement in of_one_turn} == {True, False}


def test_in_some_seeds_a_rule_helps_and_in_some_none_does_and_none_is_favoured():
    scripts = [Script(seed) for seed in range(600)]
    best = [max(one.effects, key=one.effects.get) for one in scripts]
    helped = sum(one.effects[name] > 1 for one, name in zip(scripts, best, strict=True))
    assert 0.55 < helped / 600 < 0.78
    assert 0.08 < sum(one.unfriendly is not None for one in scripts) / 600 < 0.27
    shares = [best.count(name) / 600 for name in RULES]
    assert 0.05 < min(shares) <= max(shares) < 0.16
