from __future__ import annotations

from promptlift.schema.search import Edit, assembled

TEXT = "You help.\nBe quick.\n\nNever promise a date.\n"


def edit(operation, text="", anchor=""):
    return Edit(id="e1", operation=operation, anchor=anchor, text=text)


def test_no_sentence_is_twice_in_a_text():
    """Edits of two candidates that are merged may say the same, alone or beside something new."""
    first = edit("add", "Ask for the order number first. Be kind to everybody.")
    again = edit("add", "- ask for the order number  FIRST.\n- Offer what is possible.")
    replaced = edit("replace", "Be brief. Never promise a date.", "Be quick.")
    made = assembled(TEXT, [first, first, again, replaced])
    assert made == (
        "You help.\nBe brief.\n\nNever promise a date.\nAsk for the order number first. Be kind to everybody.\n- Offer what is possible."
    )
    assert assembled(TEXT, [edit("replace", "Never promise a date.", "Be quick.")]) == assembled(
        TEXT, [edit("delete", anchor="Be quick.")]
    )
    # What is short may be said twice.
    example = "User: Hi there\nUser: Thank you."
    assert assembled("User: Thank you.", [edit("add", example)]) == f"User: Thank you.\n{example}"
