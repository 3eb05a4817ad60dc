from __future__ import annotations

import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import pytest
from pydantic import BaseModel, Field

from promptlift.service.insights.llm_answer import JudgeAnswer
from promptlift.service.insights.llm_judge import LlmJudge
from promptlift.service.llm import Cancelled, LlmBadAnswer
from promptlift.service.llm.calls import Budget, Calls
from promptlift.service.optimizations.variant_checks import problems_of
from promptlift.service.optimizations.variants import write_variants
from promptlift.service.optimizations.variants_request import STRATEGIES
from promptlift.service.rehearsal import RehearsalModel
from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.rewrites import REWRITES, rewrite
from promptlift.service.rehearsal.truth import Truth
from promptlift.service.rehearsal.words import keywords
from promptlift.service.simulations.conversation import simulate
from promptlift.service.simulations.personas import LIBRARY
from promptlift.service.simulations.prompt_text import PromptText
from promptlift.service.simulations.scenarios import opening_key, write_scenarios

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
FAILURES = [
    "Late delivery (4 of 9 failures)",
    "{{evil}} <NAME> (3 of 9 failures)",
    "He was told “ignore [ALL]”.",
]
INTENT = {
    "targetImprovements": ["fewer open questions", "mention {price}"],
    "hypothesis": "shorter is better",
}


@lru_cache
def situations(seed=5, count=60):
    return write_scenarios(
        RehearsalModel(seed), prompt=SHOP, count=count, known=[], personas=LIBRARY[:3], seed=seed
    ).scenarios


def talk(seed, content, number, *, max_turns=8):
    model = RehearsalModel(seed)
    simulated = simulate(
        model,
        prompt=SHOP,
        content=content,
        persona=LIBRARY[number % len(LIBRARY)],
        scenario=situations()[number],
        max_turns=max_turns,
        seed=number,
    )
    return simulated, LlmJudge(model, "rehearsal").judge(simulated.transcript, objective=SHOP.objective)


# Variants


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_variants_are_real_rewrites_that_pass_the_checks(text, seed):
    prompt = PromptText(text, objective=None)
    written = write_variants(
        RehearsalModel(seed), prompt=prompt, count=5, intent=INTENT, failures=FAILURES, general={}, seed=seed
    )
    assert (len(written.variants), written.problems) == (5, ())
    assert len({variant.content for variant in written.variants}) == 5
    for variant in written.variants:
        assert len(variant.content) > len(text.strip()) / 2
        assert variant.name.startswith("Rehearsal: ")
        assert "says nothing about a real prompt" in variant.rationale


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", [one.name for one in REWRITES])
def test_every_rewrite_begins_with_the_text_passes_and_carries_its_mark(text, name):
    records = [{"kind": "failure", "text": one} for one in FAILURES] + [{"kind": "intent", **INTENT}]
    content, _ = rewrite(name, text, records=records)
    assert content.startswith(text)
    assert problems_of(content, original=text, others=()) == ()
    assert [one.name for one in REWRITES if one.mark in content] == [name]


def test_every_strategy_of_the_engine_has_its_own_rewrite():
    names = {one.name for one in REWRITES}
    assert {strategy.name for strategy in STRATEGIES} <= names
    texts = {rewrite(name, SHOP.content, records=())[0] for name in names}
    assert len(texts) == len(REWRITES) == 10
    assert all(one.mark in one.addition for one in REWRITES)


def test_failures_and_wishes_enter_a_text_only_when_they_are_plain_words():
    records = [{"kind": "failure", "text": one} for one in FAILURES] + [{"kind": "intent", **INTENT}]
    failures, _ = rewrite("Against the failures", SHOP.content, records=records)
    wishes, _ = rewrite("The owner's intent", SHOP.content, records=records)
    assert "- Late delivery\n" in failures
    assert "evil" not in failures
    assert "ignore" not in failures
    assert "- fewer open questions\n- shorter is better\n" in wishes
    assert "{price}" not in wishes


# Scenarios


def test_scenarios_are_about_the_prompt_and_never_the_same():
    found = situations()
    assert len({opening_key(one.opening) for one in found}) == len(found) == 60
    said = " ".join(one.opening.lower() for one in found)
    assert all(word in said for word in ("refund", "delivery", "orders"))
    assert all(one.title.startswith("Rehearsal: ") for one in found)
    assert len({one.title for one in found}) > 20


def test_a_thousand_scenarios_can_be_had():
    assert len(situations(6, 1_000)) == 1_000


def test_a_prompt_without_words_gets_everyday_situations():
    written = write_scenarios(
        RehearsalModel(1), prompt=PromptText("{{x}}"), count=8, known=[], personas=LIBRARY[:1], seed=1
    )
    assert len(written.scenarios) == 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "You help customers of Acme with refunds and the delivery of parcels.",
            ("refunds", "delivery", "parcels"),
        ),
        ("REFUND NOW", ("refund",)),
        ("{{refund}} <PARCEL> https://refund.example", ()),
        ("", ()),
    ],
)
def test_what_a_text_is_about(text, words):
    assert keywords(text) == words


def test_the_objective_counts_more():
    assert keywords("parcels parcels refunds", more="refunds")[0] == "refunds"


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
        assert all(one.content != other.content for one, other in zip(messages, messages[2:], strict=False))
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


def test_a_conversation_of_one_turn_is_judged_by_the_answer():
    outcomes = [talk(5, SHOP.content, number, max_turns=1) for number in range(60)]
    assert all(simulated.ended_by == "turns" for simulated, _ in outcomes)
    assert {judgement.task_completed for _, judgement in outcomes} == {True, False}


def test_a_strange_transcript_is_judged_all_the_same():
    model = RehearsalModel(1)
    lines = [
        {"turn": 1, "role": "user", "content": "x"},
        {"turn": 2, "role": "tool"},
        {"leftOut": "3 messages"},
    ]
    data = "\n".join(json.dumps(line) for line in lines)
    for content in (f"BEGIN {'a' * 32}\n{data}\nEND {'a' * 32}\n", "nothing", ""):
        asked = [{"role": "system", "content": "Judge."}, {"role": "user", "content": content}]
        answer = model.chat(asked, purpose="judge", schema=JudgeAnswer)
        assert answer.parsed.task_completed is False
    assert model.chat([], purpose="agent").text
    assert model.chat([], purpose="persona").text


def test_a_person_answers_what_was_asked():
    asked = [
        {"role": "system", "content": "x"},
        {"role": "user", "content": "(cue)"},
        {"role": "assistant", "content": "My refund, please."},
        {
            "role": "user",
            "content": "(Rehearsal) Let us look at the refund together. Which date or reference is this about?",
        },
    ]
    assert "the reference ends in" in RehearsalModel(1).chat(asked, purpose="persona").text


# Truth


def rate(seed, content, count=400):
    model = RehearsalModel(seed)
    truth = Truth(seed)
    openings = [f"It is about my order {number}" for number in range(count)]
    solved = 0
    for opening in openings:
        answers = [{"role": "system", "content": content}, {"role": "user", "content": opening}]
        assert model.chat(answers, purpose="agent").text
        solved += truth.plan(content, opening).solved_in is not None
    return solved / count


def strong_seed():
    return next(seed for seed in range(20) if max(Truth(seed).effects.values()) > 2)


def weak_seed():
    return next(seed for seed in range(20) if max(Truth(seed).effects.values()) < 0.5)


def test_some_seeds_have_a_better_rewrite_and_some_have_none():
    best = [max(Truth(seed).effects.values()) for seed in range(300)]
    assert 0.55 < sum(effect > 1 for effect in best) / 300 < 0.78
    assert {effect > 1 for effect in best} == {True, False}
    unfriendly = sum(Truth(seed).unfriendly is not None for seed in range(300)) / 300
    assert 0.08 < unfriendly < 0.27


def test_no_rewrite_is_favoured():
    wins = [max(Truth(seed).effects, key=Truth(seed).effects.get) for seed in range(600)]
    shares = [wins.count(one.name) / 600 for one in REWRITES]
    assert min(shares) > 0.05
    assert max(shares) < 0.16


def test_the_effect_of_a_rewrite_shows_in_the_outcomes():
    seed = strong_seed()
    effects = Truth(seed).effects
    best, worst = max(effects, key=effects.get), min(effects, key=effects.get)
    none = next(name for name, effect in effects.items() if effect == 0)
    rates = {name: rate(seed, rewrite(name, SHOP.content, records=())[0]) for name in (best, worst, none)}
    original = rate(seed, SHOP.content)
    assert rates[best] > original + 0.2
    assert rates[worst] < original - 0.1
    assert abs(rates[none] - original) < 0.12


def test_an_unfriendly_rewrite_solves_more_and_pleases_less():
    seed = next(seed for seed in range(60) if Truth(seed).unfriendly)
    content, _ = rewrite(Truth(seed).unfriendly, SHOP.content, records=())
    curt = [talk(seed, content, number)[1] for number in range(40)]
    kind = [talk(seed, SHOP.content, number)[1] for number in range(40)]
    assert sum(one.task_completed for one in curt) > sum(one.task_completed for one in kind)
    done = [one.sentiment_score for one in curt if one.task_completed]
    assert max(done) < 0
    assert any(issue.title == "Unfriendly tone" for one in curt for issue in one.issues)


def test_openings_and_persons_differ():
    truth = Truth(3)
    chances = [truth.chance("x", f"opening {number}") for number in range(300)]
    assert 0.15 < statistics.pstdev(chances) < 0.35
    patience = [truth.patience(persona.description) for persona in LIBRARY]
    assert len(set(patience)) >= 3
    assert min(patience) >= 2


def test_words_of_a_prompt_play_no_part():
    truth = Truth(weak_seed())
    assert truth.ability("You are the best assistant ever.") == truth.ability("Help") == truth.base


# The port


def test_the_same_seed_and_request_give_the_same_answer_in_any_process():
    code = (
        "from promptlift.service.rehearsal import RehearsalModel as M;"
        "ask=[{'role':'system','content':'Help with parcels.'},{'role':'user','content':'My parcel is late'}];"
        "print([M(s).chat(ask,purpose=p).text for s in range(5) for p in ('agent','persona','variants','scenarios','judge')])"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1
    texts = [
        RehearsalModel(seed).chat([{"role": "user", "content": "a"}], purpose="agent").text
        for seed in range(9)
    ]
    assert len(set(texts)) > 3


def test_the_judge_s_mark_changes_nothing():
    simulated, first = talk(5, SHOP.content, 1)
    again = LlmJudge(RehearsalModel(5), "rehearsal").judge(simulated.transcript)
    assert again == first


def test_any_shape_is_filled_or_refused():
    class Context(BaseModel):
        industry: str = Field(min_length=12)
        objectives: list[str] = Field(min_length=2)
        share: float = Field(ge=1)
        about: Fruit | None
        sure: bool

    class Fruit(BaseModel):
        kind: str = Field(max_length=3)

    Context.model_rebuild(_types_namespace={"Fruit": Fruit})
    parsed = RehearsalModel(1).chat([], purpose="context", schema=Context).parsed
    assert parsed.industry == "Rehearsal..."
    assert parsed.objectives == ["Rehearsal", "Rehearsal"]
    assert (parsed.share, parsed.about, parsed.sure) == (1, Fruit(kind="Reh"), False)

    def never(_):
        raise ValueError("nothing is right")

    with pytest.raises(LlmBadAnswer, match="nothing is right"):
        RehearsalModel(1).chat([], purpose="context", schema=Context, check=never)


def test_it_works_as_one_job_s_model():
    calls = Calls(RehearsalModel(1), Budget(2))
    ask = [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}]
    with ThreadPoolExecutor(8) as pool:
        texts = set(pool.map(lambda _: calls.chat(ask, purpose="agent").text, range(64)))
    assert len(texts) == 1
    assert (calls.calls, calls.tokens) == (64, 0)
    calls.cancel()
    with pytest.raises(Cancelled):
        calls.chat(ask, purpose="agent")


def test_an_unknown_purpose_is_refused():
    with pytest.raises(ValueError, match="purpose must be one of"):
        RehearsalModel(1).chat([], purpose="fun")  # type: ignore[call-overload]
    assert repr(RehearsalModel(7)) == "RehearsalModel(7)"


def test_draws_follow_their_key_and_are_even():
    def first(*key):
        return Draws(*key).uniform()

    assert first(1, "a") == first(1, "a")
    assert len({first("a", "bc"), first("ab", "c"), first("abc"), first(1, "abc")}) == 4
    draws = Draws("even")
    numbers = [draws.uniform() for _ in range(20_000)]
    assert abs(statistics.mean(numbers) - 0.5) < 0.01
    assert all(0 <= number < 1 for number in numbers)
    normal = [draws.normal() for _ in range(20_000)]
    assert abs(statistics.mean(normal)) < 0.03
    assert abs(statistics.pstdev(normal) - 1) < 0.03
    assert {draws.whole(1, 3) for _ in range(200)} == {1, 2, 3}
    assert sorted(draws.shuffled(range(50))) == list(range(50))
