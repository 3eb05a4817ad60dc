"""The review of a search: family tree, edits with their reasons, and texts put together by hand."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.schema.optimizations import ApplyAnswer
from promptlift.widgets import VariantReview
from promptlift.workspace import OptimizationRun
from support.foreign_service import KEY
from support.front_end import ReviewFrontEnd
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
    return ReviewFrontEnd(VariantReview(lift, "o00001"))


def members(there):
    return {one["member"]: one for one in there.root.all(".plw-member")}


def edit(there, name, variant_id="v6"):
    return there.card(variant_id).one(".plw-edit", edit=f"edt_{name}")


def switch(there, name, variant_id="v6"):
    """Press the switch of an edit on the card of a variant, and return the text that is put together, if one is."""
    there.card(variant_id)
    there.press("switch", edit=f"edt_{name}")
    return next(iter(there.root.all(".plw-made")), None)


def added(made):
    return "".join(made.texts(".plw-line-added"))


def test_each_candidate_stands_below_the_one_that_it_was_made_from(there):
    assert [(one, shown["style"]) for one, shown in members(there).items()] == [
        (one, f"--depth:{depth}") for one, depth in (("v0", 0), ("v1", 1), ("v3", 2), ("v5", 3), ("v6", 4), ("v2", 1), ("v4", 2))
    ]  # fmt: skip
    merged = members(there)["v5"]
    assert "merge of Generation 2 of 1 and Generation 1, shorter" in merged
    assert "generation 3" in merged
    assert "+27.5 points over the original (+11.7 to +43.3), tested on 40 cells" in merged
    assert members(there)["v6"].texts(".plw-badge") == ["★ winner", "finalist"]
    assert "− Answers read like a form" in members(there)["v6"]
    assert "+ People are asked for what they said already" in members(there)["v3"]
    assert "It lost on the first batch." in members(there)["v4"]
    assert "search 168 of at most 172" in there.root
    assert "3 generations" in there.root


def test_each_edit_has_its_symptom_its_quotes_and_its_evidence(there):
    shown = edit(there, "e1")
    assert "Requests are declined and nothing is offered" in shown
    assert shown.texts("blockquote")[0] == "“I am afraid that this is not possible.” cnv_e1_1"
    assert "with it against without it: 9 won, 2 lost, 13 alike" in shown
    assert shown.texts("ins") == [TEXTS["e1"]]
    replaced = edit(there, "e3").one(".plw-change")
    assert (replaced.texts("del"), replaced.texts("span")) == (["Answer in {language}."], ["replaces"])
    pruned = edit(there, "e2")
    assert (pruned.texts(".plw-badge"), "Without it as many conversations were completed." in pruned) == (
        ["left out again"],
        True,
    )
    refused = edit(there, "e5", "v1")
    assert (refused.texts(".plw-badge"), refused.all(".plw-switch")) == (["refused"], [])
    assert "not tested for itself" in refused
    card = there.card("v6")
    assert len(card.all(".plw-switch")) == len(card.all(".plw-edit")) == 4


def test_an_edit_is_switched_off_and_on_again_and_the_text_is_said_to_be_untested(there, searched):
    made = switch(there, "e4")
    assert "untested" in made
    assert TEXTS["e1"] in added(made)
    assert TEXTS["e4"] not in added(made)
    assert "plw-off" in edit(there, "e4").classes
    assert switch(there, "e4") is None
    assert searched.texts["p1"] == ORIGINAL
    assert not searched.asked


def test_a_text_that_is_another_candidate_is_said_to_be_that_one(there):
    made = switch(there, "e4", "v3")
    assert "This is the text of Generation 1, from logged failures." in made
    assert made.all(action="test") == made.all(action="apply-made") == []


def test_a_pruned_edit_can_be_switched_on_and_a_refused_one_cannot(there):
    made = switch(there, "e2")
    assert "untested" in made
    assert TEXTS["e2"] in added(made)
    there.click("switch", "v1", edit="edt_e5")
    assert "cannot be switched" in there.notice
    assert there.card("v1").all(".plw-made") == []


def test_the_text_is_tested_by_an_optimization_of_its_own(there, searched):
    switch(there, "e4")
    there.press("test")
    assert not searched.asked
    assert there.dialog.texts(".plw-confirm") == ["Test it"]
    assert TEXTS["e4"] not in there.texts()[1][1]
    there.confirm("Without the fourth")
    (body,) = searched.asked
    text = f"You are the help desk of an invented shop.\n{TEXTS['e3']}\nNever promise a date.\n{TEXTS['e1']}"
    assert body["candidates"] == [{"name": "Without the fourth", "content": text}]
    assert (body["search"], body["promptId"], body["mode"]) == ("off", "p1", "validation")
    assert "variantCount" not in body
    assert "VariantReview(lift, 'o00002')" in there.notice


def test_the_text_can_be_applied_with_a_warning(there, searched, monkeypatch):
    switch(there, "e4")
    there.press("apply-made")
    assert any("untested" in words for words in there.dialog.texts(".plw-warning"))
    # A service without our endpoints would apply the winner in its place.
    there.confirm("Four adds nothing.")
    assert searched.texts["p1"] == ORIGINAL
    sent = {}

    def apply(_run, **fields):
        sent.update(fields)
        return ApplyAnswer(success=True, prompt_id="p1", action_id="act_1", changed=True)

    monkeypatch.setattr(OptimizationRun, "apply", apply)
    there.press("apply-made")
    there.confirm("Four adds nothing.")
    assert TEXTS["e1"] in sent["content"]
    assert TEXTS["e4"] not in sent["content"]
    assert sent["note"] == "Four adds nothing."
    assert "lift.undo('act_1')" in there.notice


def test_a_text_by_hand_is_refused_where_the_prompt_was_changed_during_the_dialog(there, searched):
    switch(there, "e4")
    there.press("apply-made")
    searched.texts["p1"] = "Somebody else's."
    there.confirm("Four adds nothing.")
    assert searched.texts["p1"] == "Somebody else's."
    assert there.dialog.text.startswith("Not done")


def test_the_text_is_not_applied_over_somebody_elses_change(there, searched):
    switch(there, "e4")
    searched.texts["p1"] = "Somebody else's."
    there.press("apply-made")
    assert there.dialog.text.startswith("Not done")
    assert searched.texts["p1"] == "Somebody else's."


def test_nothing_is_tested_without_a_switched_edit(there, searched):
    for kind in ("test", "apply-made"):
        there.click(kind, "v6")
        assert "press Refresh" in there.notice
    assert there.dialog is None
    assert not searched.asked


def test_edits_cannot_be_switched_where_they_do_not_make_the_text(searched, lift):
    searched.variants[-1]["content"] += "\nWritten by another hand."
    there = ReviewFrontEnd(VariantReview(lift, "o00001"))
    assert there.card("v6").all(".plw-switch") == []
    assert "none can be switched off" in there.card("v6")
    assert len(there.card("v3").all(".plw-switch")) == len(there.card("v3").all(".plw-edit"))


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
    there = ReviewFrontEnd(VariantReview(lift, "o00001"))
    assert edit(there, "e1").texts("blockquote") == ["in a conversation that was deleted"]
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
    there = ReviewFrontEnd(VariantReview(lift, "o00001"))
    page = there.html
    for tag in ("<script", "<img", "<svg", "<iframe", "<style", "<a ", 'onerror="', "<input"):
        assert tag not in page.lower()
    assert len(members(there)) == 7


def test_a_review_without_a_search_shows_none_and_asks_for_no_edits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ReviewedService() as running:
        running.add(1)
        with promptlift.connect(running.base_url, KEY, progress=False) as lift:
            there = ReviewFrontEnd(VariantReview(lift, "o00001"))
            assert members(there) == {}
            assert all(
                there.card(one["variant"]).all(".plw-edits") == [] for one in there.root.all(".plw-variant")
            )
            paths = [path for _, path, _ in running.seen]
            assert sum(path.endswith("/variants") for path in paths) == 1
