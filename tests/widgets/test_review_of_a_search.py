"""The review of a search: family tree, edits with their reasons, and texts put together by hand."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.schema.optimizations import ApplyAnswer
from promptlift.widgets import VariantReview
from promptlift.workspace import OptimizationRun
from support.foreign_service import KEY
from support.front_end import CommandFrontEnd
from support.hostile import PAYLOADS
from support.reviewed_service import ReviewedService
from support.searched_service import ORIGINAL, TEXTS, SearchedService, candidates, edits


@pytest.fixture
def searched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where reviews are kept for a service that keeps none
    with SearchedService() as running:
        yield running


@pytest.fixture
def lift(searched):
    with promptlift.connect(searched.base_url, KEY, progress=False) as opened:
        yield opened


@pytest.fixture
def there(lift):
    return CommandFrontEnd(VariantReview(lift, "o00001"))


def members(there):
    return {one["id"]: one for one in there.view["search"]["family"]}


def card(there, variant_id="v6"):
    return next(one for one in there.view["cards"] if one["id"] == variant_id)


def edit(there, name, variant_id="v6"):
    return next(one for one in card(there, variant_id)["edits"] if one["id"] == f"edt_{name}")


def made(there, variant_id="v6"):
    return there.state("_made").get(variant_id) or {}


def test_each_candidate_stands_below_the_one_that_it_was_made_from(there):
    family = there.view["search"]["family"]
    assert [(one["id"], one["depth"]) for one in family] == [
        ("v0", 0), ("v1", 1), ("v3", 2), ("v5", 3), ("v6", 4), ("v2", 1), ("v4", 2),
    ]  # fmt: skip
    merged = members(there)["v5"]
    assert merged["from_words"] == "merge of Generation 2 of 1 and Generation 1, shorter"
    assert merged["generation"] == "generation 3"
    assert merged["measured"] == ("+27.5 points over the original (+11.7 to +43.3), tested on 40 cells")
    assert [words for words, _ in members(there)["v6"]["badges"]] == ["★ winner", "finalist"]
    assert members(there)["v6"]["gone"] == ["Answers read like a form"]
    assert members(there)["v3"]["news"] == ["People are asked for what they said already"]
    assert members(there)["v4"]["reason"] == "It lost on the first batch."
    spending = there.view["search"]["spending"]
    assert "search 168 of at most 172" in spending
    assert "3 generations" in spending


def test_each_edit_has_its_symptom_its_quotes_and_its_evidence(there):
    shown = edit(there, "e1")
    assert shown["symptom"] == "Requests are declined and nothing is offered"
    assert shown["evidence"][0] == ["cnv_e1_1", "I am afraid that this is not possible."]
    assert shown["measured"] == "with it against without it: 9 won, 2 lost, 13 alike"
    assert shown["after"] == TEXTS["e1"]
    assert (edit(there, "e3")["before"], edit(there, "e3")["operation"]) == (
        "Answer in {language}.",
        "replaces",
    )
    pruned = edit(there, "e2")
    assert pruned["badge"] == ["left out again", "plain"]
    assert pruned["reason"] == "Without it as many conversations were completed."
    refused = edit(there, "e5", "v1")
    assert refused["badge"] == ["refused", "bad"]
    assert not refused["switch"]
    assert refused["measured"] == "not tested for itself"
    assert all(one["switch"] for one in card(there)["edits"])


def test_an_edit_is_switched_off_and_on_again_and_the_text_is_said_to_be_untested(there, searched):
    there.click("switch", "v6", "edt_e4")
    assert made(there)["switched"] == ["edt_e4"]
    added = ["".join(words for _, words in parts) for mark, parts in made(there)["diff"] if mark == "+"]
    assert TEXTS["e1"] in added
    assert TEXTS["e4"] not in added
    assert made(there)["same"] == ""
    assert "untested" in there.view["search"]["untested"]
    there.click("switch", "v6", "edt_e4")
    assert made(there) == {}
    assert searched.texts["p1"] == ORIGINAL
    assert not searched.asked


def test_a_text_that_is_another_candidate_is_said_to_be_that_one(there):
    there.click("switch", "v3", "edt_e4")
    assert made(there, "v3")["same"] == "Generation 1, from logged failures"


def test_a_pruned_edit_can_be_switched_on_and_a_refused_one_cannot(there):
    there.click("switch", "v6", "edt_e2")
    assert made(there)["same"] == ""
    assert any(TEXTS["e2"] in words for _, parts in made(there)["diff"] for _, words in parts)
    there.click("switch", "v1", "edt_e5")
    assert "cannot be switched" in there.notice
    assert made(there, "v1") == {}


def test_the_text_is_tested_by_an_optimization_of_its_own(there, searched):
    there.click("switch", "v6", "edt_e4")
    dialog = there.click("test", "v6")
    assert not searched.asked
    assert dialog["button"] == "Test it"
    assert TEXTS["e4"] not in dialog["texts"][1][1]
    there.confirm("Without the fourth")
    (body,) = searched.asked
    text = f"You are the help desk of an invented shop.\n{TEXTS['e3']}\nNever promise a date.\n{TEXTS['e1']}"
    assert body["candidates"] == [{"name": "Without the fourth", "content": text}]
    assert (body["search"], body["promptId"], body["mode"]) == ("off", "p1", "validation")
    assert "variantCount" not in body
    assert "VariantReview(lift, 'o00002')" in there.notice


def test_the_text_can_be_applied_with_a_warning(there, searched, monkeypatch):
    there.click("switch", "v6", "edt_e4")
    dialog = there.click("apply made", "v6")
    assert any("untested" in words for words in dialog["warnings"])
    # A service without our endpoints would apply the winner in its place.
    there.confirm("Four adds nothing.")
    assert searched.texts["p1"] == ORIGINAL
    sent = {}

    def apply(_run, **fields):
        sent.update(fields)
        return ApplyAnswer(success=True, prompt_id="p1", action_id="act_1", changed=True)

    monkeypatch.setattr(OptimizationRun, "apply", apply)
    there.click("apply made", "v6")
    there.confirm("Four adds nothing.")
    assert TEXTS["e1"] in sent["content"]
    assert TEXTS["e4"] not in sent["content"]
    assert sent["note"] == "Four adds nothing."
    assert "lift.undo('act_1')" in there.notice


def test_a_text_by_hand_is_refused_where_the_prompt_was_changed_during_the_dialog(there, searched):
    there.click("switch", "v6", "edt_e4")
    there.click("apply made", "v6")
    searched.texts["p1"] = "Somebody else's."
    there.confirm("Four adds nothing.")
    assert searched.texts["p1"] == "Somebody else's."
    assert there.dialog["title"].startswith("Not done")


def test_the_text_is_not_applied_over_somebody_elses_change(there, searched):
    there.click("switch", "v6", "edt_e4")
    searched.texts["p1"] = "Somebody else's."
    dialog = there.click("apply made", "v6")
    assert dialog["title"].startswith("Not done")
    assert searched.texts["p1"] == "Somebody else's."


def test_nothing_is_tested_without_a_switched_edit(there, searched):
    for kind in ("test", "apply made"):
        there.click(kind, "v6")
        assert "press Refresh" in there.notice
    assert there.dialog == {}
    assert not searched.asked


def test_edits_cannot_be_switched_where_they_do_not_make_the_text(searched, lift):
    searched.variants[-1]["content"] += "\nWritten by another hand."
    there = CommandFrontEnd(VariantReview(lift, "o00001"))
    assert not any(one["switch"] for one in card(there)["edits"])
    assert all(one["switch"] for one in card(there, "v3")["edits"])


def test_the_static_page_has_the_tree_and_the_reasons(there):
    page = there.html
    for words in (
        "Family tree of the candidates", "merge of Generation 2 of 1 and Generation 1, shorter", TEXTS["e1"], "cnv_e1_1",
        "with it against without it: 9 won, 2 lost, 13 alike", "Without it as many conversations were completed.",
    ):  # fmt: skip
        assert words in page


def test_a_quotation_of_a_deleted_conversation_is_said_to_be_gone(searched, lift):
    gone = edits()
    gone["e1"]["evidence"] = [{"conversationId": "deleted", "quote": ""}]
    searched.variants = candidates(made=gone)
    there = CommandFrontEnd(VariantReview(lift, "o00001"))
    assert edit(there, "e1")["evidence"] == [["in a conversation that was deleted", ""]]
    assert "in a conversation that was deleted" in there.html
    assert "“”" not in there.html


@pytest.mark.parametrize("payload", [one for one in PAYLOADS if one.strip()])
def test_hostile_texts_stay_texts(searched, lift, payload):
    hostile = {
        name: one
        | {"symptom": payload, "cause": payload, "reason": payload, "text": payload, "evidence": [{"conversationId": payload, "quote": payload}]}
        for name, one in edits().items()
    }  # fmt: skip
    searched.variants = candidates({"v3": payload, "v5": payload}, hostile)
    there = CommandFrontEnd(VariantReview(lift, "o00001"))
    page = there.html
    for tag in ("<script", "<img", "<svg", "<iframe", "<style", "<a ", 'onerror="', "<input"):
        assert tag not in page.lower()
    assert len(there.view["search"]["family"]) == 7


def test_a_review_without_a_search_shows_none_and_asks_for_no_edits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ReviewedService() as running:
        running.add(1)
        with promptlift.connect(running.base_url, KEY, progress=False) as lift:
            there = CommandFrontEnd(VariantReview(lift, "o00001"))
            assert there.view["search"] == {}
            assert all(one["edits"] == [] for one in there.view["cards"])
            paths = [path for _, path, _ in running.seen]
            assert sum(path.endswith("/variants") for path in paths) == 1
