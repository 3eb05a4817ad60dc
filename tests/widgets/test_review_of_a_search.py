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
def searched():
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


def test_each_candidate_stands_below_the_one_that_it_was_made_from(there):
    depths = {"v0": 0, "v1": 1, "v3": 2, "v5": 3, "v6": 4, "v2": 1, "v4": 2}
    found = members(there)
    assert [(one, shown["style"]) for one, shown in found.items()] == [
        (one, f"--depth:{depth}") for one, depth in depths.items()
    ]
    for words in (
        "merge of Generation 2 of 1 and Generation 1, shorter",
        "generation 3",
        "+27.5 points over the original (+11.7 to +43.3), tested on 40 cells",
    ):
        assert words in found["v5"]
    assert found["v6"].texts(".plw-badge") == ["★ winner", "finalist"]
    assert found["v0"].text == "Original"
    assert "− Answers read like a form" in found["v6"]
    assert "+ People are asked for what they said already" in found["v3"]
    assert "It lost on the first batch." in found["v4"]
    assert "search 168 of at most 172" in there.root
    assert "3 generations" in there.root


def test_the_length_of_a_text_is_said_with_what_it_costs(there, searched):
    tokens, more = (3 * len(text) / 4 for text in (ORIGINAL, searched.variants[-1]["content"]))
    words = len(ORIGINAL.split()), len(searched.variants[-1]["content"].split())
    assert (
        f"{words[0]} words, {tokens:.0f} tokens a conversation, {tokens * 900 * 2.5 / 1e6:.2f} a month"
        in there.card("v0")
    )
    assert (
        f"{words[1]} words (+{words[1] - words[0]}), {more:,.0f} tokens a conversation (+{more - tokens:.0f})"
        in there.card("v6")
    )
    searched.variants[-1]["length"] = {"words": 9}
    there.press("refresh")
    assert "9 words (\N{MINUS SIGN}" in there.card("v6")


def test_each_edit_has_its_symptom_its_quotes_and_its_evidence(there, searched, lift):
    shown = edit(there, "e1")
    assert "Requests are declined and nothing is offered" in shown
    assert shown.texts("blockquote")[0] == "“I am afraid that this is not possible.” cnv_e1_1"
    assert "with it vs. without it: 9 won, 2 lost, 13 tied" in shown
    assert shown.texts("ins") == [TEXTS["e1"]]
    replaced = edit(there, "e3").one(".plw-change")
    assert (replaced.texts("del"), replaced.texts("span")) == (["Answer in {language}."], ["replaces"])
    pruned = edit(there, "e2")
    assert pruned.texts(".plw-badge") == ["left out again"]
    assert "Without it as many conversations were completed." in pruned
    refused = edit(there, "e5", "v1")
    assert (refused.texts(".plw-badge"), refused.all(".plw-switch")) == (["refused"], [])
    assert "not tested on its own" in refused
    card = there.card("v6")
    assert len(card.all(".plw-switch")) == len(card.all(".plw-edit")) == 4
    page = there.html
    for words in (
        "family tree of 6 candidates",
        "merge of Generation 2 of 1",
        TEXTS["e1"],
        "cnv_e1_1",
        "9 won, 2 lost, 13 tied",
    ):
        assert words in page
    # A quotation of a deleted conversation is said to be gone.
    gone = edits()
    gone["e1"]["evidence"] = [{"conversationId": "deleted", "quote": ""}]
    searched.variants = candidates(made=gone)
    there = ReviewFrontEnd(VariantReview(lift, "o00001"))
    assert edit(there, "e1").texts("blockquote") == ["in a conversation that was deleted"]
    assert "“”" not in there.html


def test_the_text_can_be_applied_with_a_warning_and_never_over_somebody_elses_change(
    there, searched, monkeypatch
):
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

    with monkeypatch.context() as patched:
        patched.setattr(OptimizationRun, "apply", apply)
        there.press("apply-made")
        there.confirm("Four adds nothing.")
    assert TEXTS["e1"] in sent["content"]
    assert TEXTS["e4"] not in sent["content"]
    assert sent["note"] == "Four adds nothing."
    assert there.notice.startswith(
        "The text put together by hand is now the current version. To revert this: "
    )
    assert "lift.undo('act_1')" in there.notice
    # Changed during the dialog, and before it.
    switch(there, "e4")
    there.press("apply-made")
    searched.texts["p1"] = "Somebody else's."
    there.confirm("Four adds nothing.")
    assert there.dialog.text.startswith("Not done")
    there.send("cancel")
    there.press("apply-made")
    assert there.dialog.text.startswith("Not done")
    assert searched.texts["p1"] == "Somebody else's."


def test_hostile_texts_stay_texts(searched, lift):
    payloads = [one for one in PAYLOADS if one.strip()]
    for start in range(0, len(payloads), 5):
        made = {}
        for at, (name, one) in enumerate(edits().items()):
            text = payloads[(start + at) % len(payloads)]
            evidence = [{"conversationId": text, "quote": text}]
            made[name] = one | {
                "symptom": text,
                "cause": text,
                "reason": text,
                "text": text,
                "evidence": evidence,
            }
        searched.variants = candidates({"v3": payloads[start], "v5": payloads[start - 1]}, made)
        there = ReviewFrontEnd(VariantReview(lift, "o00001"))
        page = there.html.lower()
        for tag in ("<script", "<img", "<svg", "<iframe", "<style", "<a ", 'onerror="', "<input"):
            assert tag not in page
        assert len(members(there)) == 7


def test_a_review_without_a_search_shows_none_and_asks_for_no_edits():
    with ReviewedService() as running:
        running.add(1)
        with promptlift.connect(running.base_url, KEY, progress=False) as lift:
            there = ReviewFrontEnd(VariantReview(lift, "o00001"))
            assert members(there) == {}
            rows = there.root.all(".plw-variant")
            assert not any(there.card(one["variant"]).all(".plw-edits") for one in rows)
            paths = [path for _, path, _ in running.seen]
            assert sum(path.endswith("/variants") for path in paths) == 1
