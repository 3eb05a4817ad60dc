"""What a judge of one's own is asked, and which answers are believed."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.judges import JudgeExample
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.judge import JudgeFailed
from promptlift.service.judges.question import JudgeText, QuestionVerdict, ask
from promptlift.service.llm.port import LlmBadAnswer
from support.orders import ORDERS
from support.scripted_model import ScriptedModel, in_turn

TEXT = JudgeText("Did the assistant promise a refund?", rubric="A voucher is a promise too.")


def said(*, answer=True, reason="It says so."):
    return json.dumps({"answer": answer, "reason": reason})


def talk(text):
    return parse_content(json.dumps({"messages": [{"role": "user", "content": text}]}))


def asked(model, transcript, text=TEXT, **options):
    return ask(model, text, transcript, model="m", **options)


def test_the_owners_texts_are_rules_and_everything_else_is_data():
    model = ScriptedModel(in_turn(said()))
    text = JudgeText(TEXT.question, TEXT.rubric, (JudgeExample(text="User: voucher?", answer=True),))
    verdict = asked(model, talk("Where is my money?"), text)
    assert verdict == QuestionVerdict(answer=True, reason="It says so.", input_tokens=10, output_tokens=5)
    request = model.asked[0]
    assert (request.purpose, request.temperature) == ("judge", 0.0)
    assert TEXT.question in request.system
    assert TEXT.rubric in request.system
    for data in ("Where is my money?", "User: voucher?"):
        assert data not in request.system
    first, *lines, last = request.last.split("\n\n")[0].splitlines()
    assert (first[:6], last[:4], first[6:]) == ("BEGIN ", "END ", last[4:])
    assert [json.loads(line) for line in lines] == [
        {"example": 1, "text": "User: voucher?", "answer": True},
        {"turn": 1, "role": "user", "content": "Where is my money?"},
    ]


@pytest.mark.parametrize("order", ORDERS[::5])
def test_an_order_in_a_transcript_never_leaves_the_data(order):
    model = ScriptedModel(in_turn(said(answer=False)))
    asked(model, talk(order))
    request = model.asked[0]
    assert order.splitlines()[0] not in request.system
    begin, *lines, end = request.last.split("\n\nAnswer the question")[0].split("\n")
    # However many lines the order has, it is one record between the two marks.
    assert len(lines) == 1
    assert json.loads(lines[0])["content"] == order
    assert begin.removeprefix("BEGIN ") == end.removeprefix("END ") not in order


def test_answers_that_are_none_are_not_believed():
    def repeat(request):
        return said(reason=request.last.split("\n")[0])

    with pytest.raises(LlmBadAnswer, match="repeats the mark"):
        asked(ScriptedModel(repeat), talk("hi"))
    for answer in ('{"answer": "yes", "reason": "x"}', '{"reason": "x"}', "yes"):
        with pytest.raises(LlmBadAnswer):
            asked(ScriptedModel(in_turn(answer)), talk("hi"))


def test_what_the_account_excludes_is_not_in_the_reason():
    model = ScriptedModel(in_turn(said(reason="Mail anna@example.com was promised a refund.")))
    verdict = asked(model, talk("hi"), exclusions="email addresses")
    assert verdict.reason == "Mail [excluded] was promised a refund."


def test_a_conversation_without_text_is_not_sent():
    model = ScriptedModel(in_turn(said()))
    with pytest.raises(JudgeFailed, match="nothing to judge"):
        asked(model, talk(" "))
    assert model.asked == []
