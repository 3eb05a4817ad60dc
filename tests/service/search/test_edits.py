"""Edits as a set: put together, joined one by one, and left out again."""

from __future__ import annotations

import pytest

from promptlift.service.search.edits import CandidateEdit, assemble, dealt, join, nearest

ORIGINAL = "You help.\nNever lie.\nBe brief."


def edit(number, operation, text="", anchor=""):
    return CandidateEdit(f"e{number}", operation, anchor, text, "It fails.", "Nothing is said of it.")


def test_each_operation():
    for new, expected in (
        (edit(1, "add", "Ask first."), "You help.\nNever lie.\nBe brief.\nAsk first."),
        (edit(1, "add", "Ask first.", "You help."), "You help.\nAsk first.\nNever lie.\nBe brief."),
        (edit(1, "add", "gladly", "You help"), "You help gladly.\nNever lie.\nBe brief."),
        (edit(1, "replace", "Be thorough.", "Be brief."), "You help.\nNever lie.\nBe thorough."),
        (edit(1, "replace", "Be brief. Ask first.", "Be brief."), f"{ORIGINAL}\nAsk first."),
        (edit(1, "delete", "", "Be brief."), "You help.\nNever lie.\n"),
    ):
        joined = join(ORIGINAL, [], new)
        assert joined.problem is None
        assert assemble(ORIGINAL, joined.edits) == expected


def test_an_edit_that_does_not_fit_is_refused_with_a_reason():
    for new, problem in (
        (edit(1, "rewrite", "Anything."), "none of add"),
        (edit(1, "add", "  "), "no text"),
        (edit(1, "replace", "x", "Not there."), "is not in the prompt"),
        (edit(1, "delete", "", ""), "is not in the prompt"),
        (edit(1, "replace", "Be brief.", "Be brief."), "changes nothing"),
    ):
        joined = join(ORIGINAL, [], new)
        assert joined.edits == ()
        assert problem in joined.problem


@pytest.mark.parametrize("text", ["Never lie.", "never  LIE.", "Ask for the number."])
def test_what_stands_in_the_prompt_is_not_added_again(text):
    (first,) = join(ORIGINAL, [], edit(1, "add", "Ask for the number.")).edits
    joined = join(ORIGINAL, [first], edit(2, "add", text))
    assert joined.edits == (first,)
    assert "already" in joined.problem
    assert join(ORIGINAL, [first], edit(2, "add", "Never li")).problem is None


def test_an_edit_of_an_edit_takes_its_place():
    (first,) = join(ORIGINAL, [], edit(1, "add", "Ask for the number.")).edits
    joined = join(ORIGINAL, [first], edit(2, "replace", "the name", "the number"))
    assert [one.id for one in joined.edits] == ["e2"]
    assert assemble(ORIGINAL, joined.edits).endswith("Ask for the name.")
    assert join(ORIGINAL, [first], edit(2, "delete", "", "Ask for the number.")).edits == ()


def test_any_edit_can_be_left_out_again():
    edits = ()
    for new in (edit(1, "add", "One."), edit(2, "add", "Two.", "One."), edit(3, "add", "Three.", "Two.")):
        edits = join(ORIGINAL, edits, new).edits
    assert assemble(ORIGINAL, edits).endswith("One.\nTwo.\nThree.")
    left = assemble(ORIGINAL, [edits[0], edits[2]])
    assert "One." in left
    assert "Three." in left
    assert "Two." not in left


def test_new_edits_are_in_all_candidates_but_one_and_those_against_one_issue_meet_apart():
    issues = ("label", "refund", "refund", "label", "fee", "label")
    edits = [CandidateEdit(f"e{at}", "add", "", "", "", "", (), (issue,)) for at, issue in enumerate(issues)]
    candidates = dealt(edits, 3)
    for one in edits:
        assert sum(one in held for held in candidates) == 2
        for other in edits:
            if other.issue == one.issue and other is not one:
                assert any(one in held and other not in held for held in candidates)
    assert dealt(edits, 1) == [edits]
    assert dealt([], 2) == [[], []]


def test_an_edit_is_against_the_issue_whose_rare_words_it_has():
    titles = ["Left the return label open", "Left the customs fee open", "Left the size chart open"]
    assert nearest("Say what the customs fee is before anything is open.", titles) == titles[1]
    assert nearest("Be polite, and leave nothing open.", titles) is None
    assert nearest("Say what the customs fee is.", []) is None
