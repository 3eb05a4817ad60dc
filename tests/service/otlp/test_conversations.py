"""Calls of models become conversations: which belong together, what is said in them, and that none is lost or logged twice."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from promptlift.schema import limits
from promptlift.schema.experiments import ASSIGNMENT, Assignment
from promptlift.schema.limits import PLANS
from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.otlp import closing
from promptlift.service.otlp.closing import TracedConversations
from promptlift.service.otlp.decode import read_json
from promptlift.service.otlp.receive import Received, receive
from promptlift.service.store import leases, prompts, traced
from promptlift.service.store.accounts import Caller, caller_of, change
from promptlift.service.store.leases import with_work
from promptlift.service.store.tables import conversation_contents, conversations, events, metadata
from promptlift.service.store.tables import prompts as prompt_table
from support.spans import START, as_json, chat

traced_calls = metadata.tables["traced_calls"]
traced_conversations = metadata.tables["traced_conversations"]

HI, WHO = ("user", "Hi"), ("user", "Who are you?")


def send(world, *spans, resource=None, prompt=None, plan="enterprise", account=None, caller=None):
    caller = caller or Caller(account or world.account, PLANS[plan], "key")
    received = Received()
    read = read_json(as_json(*spans, resource=resource), received.reject)
    receive(world.database, caller, read, received, prompt=prompt, quiet_seconds=0)
    return received


def closing_kind(world):
    return TracedConversations(world.database, worker="w")


def close(world):
    """Close whatever is due, as the worker does."""
    kind, worker = closing_kind(world), "w"
    with world.database.write() as connection:
        leases.renew(connection, worker, seconds=60)
        ids = kind.leases.claim(connection, worker, limit=100, now=clock.now() + 1)
    kind.work(ids)


def logged(world):
    """Every conversation: its row, and what was said."""
    with world.database.read() as connection:
        rows = connection.execute(
            select(conversations, conversation_contents.c.content)
            .join(conversation_contents, conversation_contents.c.conversation_id == conversations.c.id)
            .order_by(conversations.c.seq)
        ).all()
    return [(row, json.loads(row.content)) for row in rows]


def words(document):
    return [message["content"] for message in document["messages"]]


def test_a_history_that_is_sent_again_is_one_conversation(world):
    send(world, chat(1, [HI], "Hello", trace=1, system="You greet."))
    send(world, chat(2, [HI, ("assistant", "Hello"), WHO], "A bot.", trace=2, system="You greet."))
    close(world)
    ((row, document),) = logged(world)
    assert words(document) == ["Hi", "Hello", "Who are you?", "A bot."]
    assert (row.status, row.llm_model, row.user_turns) == ("completed", "gpt-4o-2024", 2)
    assert (row.started_at, row.ended_at) == (START + 1000, START + 2500)
    assert row.response_seconds == pytest.approx(0.5)
    first, answer, *_ = document["messages"]
    assert first == {"role": "user", "content": "Hi", "timestamp": clock.iso(START + 1000)}
    assert (answer["model"], answer["tokens"], answer["inputTokens"]) == ("gpt-4o-2024", 7, 20)
    with world.database.read() as connection:
        prompt = prompts.find(connection, world.account, row.prompt_id)
        assert (prompt.name, prompt.content, prompt.llm_model) == ("shop", "You greet.", "gpt-4o-2024")
        assert connection.scalars(select(events.c.type)).all() == ["conversation.created"]
        assert connection.execute(select(traced_calls)).all() == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_calls_with_the_id_of_a_conversation_may_come_in_any_order(world, order):
    known = {"gen_ai.conversation.id": "c-1", "user.id": "u-1"}
    calls = [
        chat(1, [HI], "Hello", trace=1, **known),
        chat(2, [HI, ("assistant", "Hello"), WHO], "A bot.", trace=2, **known),
        # A history that is cut adds only what is new.
        chat(3, [("assistant", "A bot."), ("user", "Only what is new")], "Fine.", trace=3, **known),
    ]
    for index in order:
        send(world, calls[index])
    close(world)
    ((row, document),) = logged(world)
    assert row.source_id == "c-1"
    assert document["metadata"] == {"channel": "otlp", "sessionId": "c-1", "userId": "u-1"}
    assert words(document) == ["Hi", "Hello", "Who are you?", "A bot.", "Only what is new", "Fine."]


def test_the_calls_say_tokens_cost_time_and_metadata_also_of_a_conversation_that_goes_on(world):
    known = {"gen_ai.conversation.id": "c-1", "user.id": "u-1"}
    send(world, chat(1, [HI], "Hello", **known, **{"gen_ai.usage.cost": 0.25}))
    close(world)
    ((row, _),) = logged(world)
    assert (row.input_tokens, row.output_tokens, row.cost) == (20, 7, 0.25)
    assert json.loads(row.metadata) == {"channel": "otlp", "sessionId": "c-1", "userId": "u-1"}
    send(world, chat(2, [HI, ("assistant", "Hello"), WHO], "A bot.", **known, **{"llm.cost.total": 0.5}))
    close(world)
    ((row, _),) = logged(world)
    assert (row.input_tokens, row.output_tokens, row.cost) == (40, 14, 0.75)


def test_scores_of_spans_and_results_of_evaluations_are_scores_of_the_conversation(world):
    assignment = Assignment("exp_" + "0" * 24, 1, "0" * 16)
    known = {"gen_ai.conversation.id": "c-1", "score.reward": 1.0, ASSIGNMENT: assignment.id}
    first = chat(1, [HI], "Hello", trace=1, **known)
    second = chat(2, [WHO], "A bot.", trace=2, **{"gen_ai.conversation.id": "c-1"})
    said = {"gen_ai.evaluation.name": "polite", "gen_ai.evaluation.score.label": "true"}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
    second["events"] = [{"name": "gen_ai.evaluation.result", "attributes": attributes}]
    send(world, first, second)
    close(world)
    ((row, _),) = logged(world)
    metadata = json.loads(row.metadata)
    assert (metadata["score.reward"], metadata["score.polite"]) == (1.0, True)
    assert metadata[ASSIGNMENT] == assignment.id
    with world.database.read() as connection:
        columns = connection.execute(select(*(conversations.c[name] for name in Assignment._fields))).one()
    assert tuple(columns) == assignment


def test_the_same_words_of_two_users_are_two_conversations(world):
    for trace in (1, 2):
        send(world, chat(trace, [HI], "Hello", trace=trace))
    history = [HI, ("assistant", "Hello"), WHO]
    for trace in (3, 4):
        send(world, chat(trace, history, f"Bot {trace}.", trace=trace))
    close(world)
    assert sorted(words(document)[-1] for _, document in logged(world)) == ["Bot 3.", "Bot 4."]
    assert all(len(words(document)) == 4 for _, document in logged(world))


def test_other_instructions_in_one_trace_are_another_conversation(world):
    send(
        world,
        chat(1, [("user", "Route: Hi")], "greeting", system="You route."),
        chat(2, [HI], "Hello", system="You greet."),
    )
    close(world)
    assert [words(document) for _, document in logged(world)] == [["Route: Hi", "greeting"], ["Hi", "Hello"]]


def test_spans_that_are_sent_again_count_once(world):
    one = chat(1, [HI], "Hello")
    send(world, one)
    send(world, one, one)
    close(world)
    send(world, one)
    close(world)
    ((row, document),) = logged(world)
    assert words(document) == ["Hi", "Hello"]
    assert row.generation == 1, "nothing changed, so nothing is judged again"


@pytest.mark.parametrize("known", [{}, {"gen_ai.conversation.id": "c-1"}])
def test_a_conversation_that_goes_on_later_grows(world, known):
    send(world, chat(1, [HI], "Hello", trace=1, **known))
    close(world)
    if known:  # found by its id even when it has been forgotten
        with world.database.write() as connection:
            traced.drop_closed(connection, before=clock.now() + 1)
    send(world, chat(2, [HI, ("assistant", "Hello"), WHO], "A bot.", trace=2, **known))
    close(world)
    ((row, document),) = logged(world)
    assert words(document) == ["Hi", "Hello", "Who are you?", "A bot."]
    assert row.generation == 2


def test_a_retry_of_a_failed_call_is_asked_once(world):
    send(world, chat(1, [HI], None), chat(2, [HI], "Hello"), chat(3, [WHO], None, trace=3))
    close(world)
    (row, document), (unanswered, _) = logged(world)
    assert words(document) == ["Hi", "Hello"]
    assert document["metadata"]["failedCalls"] == 1
    assert (row.status, unanswered.status) == ("completed", "abandoned")


def test_a_prompt_is_found_by_what_a_call_says_of_it(world):
    agent = world.add_prompt("You are an agent.")
    texts = {}
    for number, (resource, prompt, known) in enumerate(
        [
            ({"service.name": "x", "promptlift.prompt": agent}, None, {}),
            ({"service.name": "x"}, agent, {}),
            ({"service.name": "x"}, None, {"gen_ai.agent.id": agent}),
            ({"service.name": "x"}, None, {"system": "You are an agent."}),
            ({"service.name": "x"}, None, {"gen_ai.agent.name": "Support"}),
            ({"service.name": "x"}, None, {"gen_ai.agent.name": "Sales", "system": "You sell."}),
            ({"service.name": "x"}, None, {"gen_ai.agent.name": "Sales"}),
            ({"service.name": "x"}, None, {}),
            ({}, None, {}),
        ],
        start=1,
    ):
        call = chat(number, [("user", f"{number}")], "Yes", trace=number, **known)
        assert send(world, call, resource=resource, prompt=prompt).rejected == 0
    close(world)
    with world.database.read() as connection:
        names = dict(connection.execute(select(prompt_table.c.id, prompt_table.c.name)).all())
        for row in connection.execute(select(prompt_table)):
            texts[row.name] = (row.content, row.content_known)
    assert [row.prompt_id for row, _ in logged(world)][:4] == [agent] * 4
    assert [names[row.prompt_id] for row, _ in logged(world)][4:] == [
        *("Support", "Sales", "Sales", "x", "unknown_service"),
    ]
    assert texts["Sales"] == ("You sell.", True)
    assert texts["x"] == ("(The text of x is not known yet.)", False)


def test_what_cannot_be_kept_is_said(world):
    received = send(world, chat(1, [HI], "Hello"), prompt="prm_nobody")
    assert (received.rejected, received.problem) == (1, "There is no prompt with the id or name 'prm_nobody'")
    silent = chat(2, [], None)
    received = send(world, silent)
    assert received.rejected == 1
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in received.problem
    close(world)
    assert logged(world) == []


def test_the_account_limits_prompts_and_conversations(world):
    for number in range(4):
        world.add_prompt(f"{number}")
    received = send(world, chat(1, [HI], "Hello"), plan="free")
    assert received.problem == "The plan's limit of prompts is reached"
    for number in range(1, 4):
        send(world, chat(number, [HI], "Hello", trace=number), prompt="Support")
    with world.database.write() as connection:
        change(connection, world.account, {"limits": {"conversations_per_month": 2}})
    close(world)
    assert len(logged(world)) == 2
    with world.database.read() as connection:
        (kept,) = connection.execute(
            select(traced_conversations).where(traced_conversations.c.close_at.is_not(None))
        )
        assert kept.close_at == clock.billing_period(clock.now())[1], "it is logged when there is room again"
    with world.database.read() as connection:
        limited = caller_of(connection, world.account)
    received = send(world, chat(600, [WHO], "Me", trace=600), prompt="Support", caller=limited)
    assert received.problem == "The plan's limit of conversations per month is reached"


def test_long_conversations_keep_within_the_limits(world):
    history = [(("user", "assistant")[n % 2], f"{n} " + "ü" * 800) for n in range(701)]
    send(world, chat(1, [("user", "x" * (limits.MESSAGE_BYTES + 1)), *history[1:]], "Bye"))
    close(world)
    ((row, document),) = logged(world)
    said = words(document)
    assert said[0].endswith("[… cut here: the message was too long]")
    assert said[-1] == "Bye"
    assert document["metadata"]["messagesCut"] == 702 - len(said)
    assert len(row.content) <= limits.CONTENT_BYTES
    assert 100 < len(said) <= limits.MESSAGES


def test_nothing_is_logged_by_halves(world, monkeypatch):
    send(world, chat(1, [HI], "Hello"))
    real = traced.closed

    def broken(*_arguments):
        raise RuntimeError("the process ends here")

    monkeypatch.setattr(closing.traced, "closed", broken)
    with pytest.raises(RuntimeError):
        close(world)
    assert logged(world) == []
    monkeypatch.setattr(closing.traced, "closed", real)
    with world.database.write() as connection:
        closing_kind(world).leases.release(connection, "w")
    close(world)
    assert len(logged(world)) == 1


def test_the_conversations_of_a_deleted_prompt_are_dropped(world):
    send(world, chat(1, [HI], "Hello"), prompt=world.prompt_id)
    with world.database.write() as connection:
        prompts.change(connection, world.account, world.prompt_id, {"deleted_at": clock.now()})
    close(world)
    with world.database.read() as connection:
        assert with_work(connection, [closing_kind(world).leases], now=clock.now() + clock.DAY) == []
    assert logged(world) == []


def test_accounts_do_not_share_conversations_or_prompts(world):
    from promptlift.service.store.accounts import create

    known = {"gen_ai.conversation.id": "c-1"}
    send(world, chat(1, [HI], "Hello", **known))
    with world.database.write() as connection:
        other = create(connection, name=new_id("acc"), email="b@example.test", plan="enterprise")
    send(world, chat(1, [HI], "Hello", **known), account=other)
    again = send(world, chat(1, [HI], "Hello", **known), account=other, prompt=world.prompt_id)
    assert again.rejected == 0, "the span is known already"
    assert send(world, chat(2, [HI], "Hello"), account=other, prompt=world.prompt_id).rejected == 1
    close(world)
    assert sorted(row.account_id for row, _ in logged(world)) == sorted([world.account, other])
