"""What customers said stays out of variants, and names and numbers of theirs out of what the writer is shown."""

from __future__ import annotations

import json
import time

import pytest

from promptlift.service.optimizations.logged_words import LoggedWords
from promptlift.service.simulations.tasks import PromptText

PROMPT = PromptText(
    "You are the support of Parcel Star. Always ask for the parcel number before you do anything. "
    "Write to help@parcel.example within 30 days.",
    objective="Late parcels are found",
)
TALK = (
    "User: Hello, I'm Anna Petrova and my order A1B-22 of 48213 has been lost since Monday. "
    "Call me on 0171-2223334 or mail anna.p@mail.example, we live near Lindenplatz.\n"
    "Assistant: I will look into the warehouse log, Anna. Always ask for the parcel number before you do anything."
)


def said(*talks, own=(PROMPT.content, PROMPT.objective)):
    return LoggedWords(own, talks or (TALK,))


def test_five_words_in_a_row_count_unless_they_are_the_prompts_own():
    for text, runs in {
        "Then look into the warehouse log first.": ("look into the warehouse log",),
        "LOOK into: the -- warehouse “log” now": ("LOOK into: the -- warehouse “log",),
        # Four words, and four other ones.
        "Look into the warehouse list.": (),
        # The prompt's own words, which a conversation quotes.
        "Always ask for the parcel number before you do anything, always.": (),
        # The end of one message and the start of the next are no run.
        "near Lindenplatz I will look": (),
    }.items():
        assert said().runs(text) == list(runs)
    messages = [{"role": "system", "content": "You help people with late parcels daily."}]
    # Messages of the system are the prompt's and not a customer's.
    talk = json.dumps({"messages": messages})
    assert said(talk).runs("You help people with late parcels daily.") == []


def test_names_numbers_addresses_and_codes_count():
    for found in ("Anna", "Petrova", "A1B-22", "48213", "0171-2223334", "anna.p@mail.example", "Lindenplatz"):
        text = f"Tell them about {found}, then go on."
        assert found in said().particulars(text)
        assert found in " ".join(said().problems(text))
    for text in (
        # The owner's own.
        "You work for Parcel Star. Answer within 30 days and name help@parcel.example.",
        # A day, a new number, a new name, a small number, a word that others write small.
        "On Monday say 45. Ask Robert. Ask at most 3 questions. The Order comes first.",
        "- Hello is how you begin.\n# Call back",
    ):
        assert said(TALK, "User: my order is here").particulars(text) == []
    # What cannot be read is passed over.
    assert said("", "no labels at all", '{"messages": 3}', TALK).particulars("Ask for Lindenplatz")


def test_a_word_that_somebody_writes_small_is_no_name():
    talk = "User: I want my Refund NOW.\nAssistant: Yes, a Refund for Miller."
    assert said(talk).particulars("Offer the Refund to Miller NOW.") == ["Refund", "Miller"]
    assert said(talk, "User: my refund?").particulars("Offer the Refund to Miller NOW.") == ["Miller"]


def test_where_nouns_have_capitals_only_what_is_called_so_is_a_name():
    talk = (
        "Customer: Ich heiße Petra Novak und ich warte auf die Lieferung, die mit der Rechnung nicht kommt.\n"
        "Agent: Frau Novak, das ist der Fehler und wir schicken die Ware zu."
    )
    words = LoggedWords(["Du bist ein Assistent."], [talk])
    text = "Frag nach der Lieferung und nach der Rechnung. Sag Frau Novak die Wahrheit."
    assert words.particulars(text) == ["Novak"]


def test_names_and_numbers_are_masked_for_the_writer():
    for text, masked in {
        "Asked: “I'm Anna Petrova, where is A1B-22?”. Gave up.": "Asked: “I'm (name) (name), where is (number)?”. Gave up.",
        "Petrova wrote to x@y.example about 998877.": "(name) wrote to (e-mail) about (number).",
        "See https://shop.example/o/17.": "See (link).",
        "Parcel Star did not answer within 30 days": "Parcel Star did not answer within 30 days",
    }.items():
        assert said().masked(text) == masked


@pytest.mark.slow
def test_no_text_costs_much_time():
    begun = time.process_time()
    for text in (
        "a" * 200_000,
        "1-" * 100_000,
        "A b " * 50_000,
        "@" * 200_000,
        "a.b@" * 50_000,
        "http://" * 30_000,
    ):
        words = said("User: " + text)
        words.problems(text)
        words.masked(text)
    # Milliseconds each; what grows with the square of the length would take minutes.
    assert time.process_time() - begun < 30
