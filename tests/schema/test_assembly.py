from __future__ import annotations

import pytest

from promptlift.schema.search import Edit, assembled

TEXT = "You help.\nBe quick.\n\nNever promise a date.\n"


def edit(operation, text="", anchor=""):
    return Edit(id="e1", operation=operation, anchor=anchor, text=text)


@pytest.mark.parametrize(
    ("change", "made"),
    [
        (edit("add", "Be kind."), "You help.\nBe quick.\n\nNever promise a date.\nBe kind."),
        (edit("add", "Be kind.", "Be quick."), "You help.\nBe quick.\nBe kind.\n\nNever promise a date.\n"),
        (edit("add", "very", "Be"), "You help.\nBe very quick.\n\nNever promise a date.\n"),
        (edit("add", "Be kind.", "Not there."), "You help.\nBe quick.\n\nNever promise a date.\nBe kind."),
        (edit("replace", "Be brief.", "Be quick."), "You help.\nBe brief.\n\nNever promise a date.\n"),
        (
            edit("replace", "Be brief.", "Not there."),
            "You help.\nBe quick.\n\nNever promise a date.\nBe brief.",
        ),
        (edit("delete", anchor="Be quick."), "You help.\n\nNever promise a date.\n"),
        (edit("delete", anchor="Not there."), TEXT),
    ],
)
def test_an_edit_changes_its_place(change, made):
    assert assembled(TEXT, [change]) == made


def test_edits_are_made_one_after_the_other():
    first, second = edit("add", "Be kind."), edit("replace", "Be very kind.", "Be kind.")
    assert assembled("", [first]) == "Be kind."
    assert assembled(TEXT, [first, second]).endswith("Be very kind.")
    assert assembled(TEXT, []) == TEXT
