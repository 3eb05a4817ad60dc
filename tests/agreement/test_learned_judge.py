"""A judge that learns from labels, on the wire and through the client."""

from __future__ import annotations

from agreement.covered import both, both_schemes, covers, same
from support.service_process import wait_until

pytestmark = both_schemes
DONE = "User: Book a table.\nAssistant: It is booked, table {}.\nUser: Wonderful, perfect."
FAILED = "User: Book a table.\nAssistant: Table {} is what you get, or none.\nUser: Hm, whatever."


def decided(wire, prompt_id):
    path = f"/{wire.scheme.segment}/{prompt_id}/status"
    wait_until(lambda: not wire.get(path)["insights"]["again"], what="all verdicts are decided again")


@covers(
    *both("POST", "/{id}/learned-judge"),
    *both("GET", "/{id}/learned-judge"),
    *both("DELETE", "/{id}/learned-judge"),
)
def test_learn_read_and_forget(wire, client):
    prompt_id = wire.add_prompt()
    path = f"/{wire.scheme.segment}/{prompt_id}/learned-judge"
    truth = {wire.log(prompt_id, (DONE if at % 3 else FAILED).format(at)): bool(at % 3) for at in range(40)}
    wire.wait_for_insights(prompt_id)
    labels = [{"conversationId": one, "completed": done} for one, done in truth.items()][:36]
    few = wire.ask("POST", path, {"labels": labels[:10]})
    assert (few.status, set(few.error["details"])) == (400, {"labels"})
    assert wire.ask("GET", path).status == wire.ask("DELETE", path).status == 404

    made = wire.ask(
        "POST", path, {"labels": [*labels, {"conversationId": "cnv_none", "completed": True}], "seed": 2}
    )
    assert made.status == 201
    assert (made.body["judges"], made.body["labels"], made.body["labelsLeftOut"]) == (True, 36, 1)
    decided(wire, prompt_id)
    # Also those without a label.
    for one, done in list(truth.items())[-8:]:
        insights = wire.get(f"/conversations/{one}/insights")
        assert (insights["taskCompleted"], insights["basis"]) == (done, "learned")
        assert insights["completedBy"] == f"learned:{prompt_id}@1"
        assert (insights["completionChance"] >= 0.5) is done
    assert same(client.prompts.learned_judge(prompt_id), wire.get(path))
    again = client.prompts.learn(
        prompt_id,
        labels=[{"conversation_id": one["conversationId"], "completed": one["completed"]} for one in labels],
    )
    assert (again.version, again.accuracy) == (2, 1.0)
    assert client.prompts.forget(prompt_id).success
    decided(wire, prompt_id)
    assert {wire.get(f"/conversations/{one}/insights")["basis"] for one in list(truth)[:3]} == {"words"}
