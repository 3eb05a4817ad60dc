"""Sentences that users read and several tests look for: one table per room, so that a wording changes in one place."""

from __future__ import annotations

from typing import Final

PLOTS: Final = {
    "conversations are loading": "Conversations are still loading.",
    "expected": "Diamond: expected lift, shrunk toward 0 in proportion to its uncertainty.",
    "verified": "Diamond: expected lift; a winner's is mostly the verified one, on new pairs after the decision",
    "final confidence only": "The service reports only a final confidence, not one for each pass.",
    "largest groups": "Only the 6 largest of 8 groups are shown.",
    "lift contradicts rates": "do not match the reported task completion rates",
    "most trials": "Only the 20 of 23 variants with the most trials are shown.",
    "name the prompt": "Name the prompt",
    "no interval": "Hollow: no interval.",
    "no interval reported": "Hollow: the service reports no interval.",
    "no sample size": "interval unavailable, because the service reports no sample size",
    "no variants": "No variants yet",
    "nothing measured": "No lift, because nothing was measured",
    "nothing to compare": "Nothing to compare: one of the periods has no conversations with insights",
    "observational": "observational",
    "rehearsal": "Rehearsal: produced by a built-in stand-in",
    "version not shown": "1 version not shown: outside this period",
    "word list": "Judged by a word list",
}

REPORT: Final = {
    "characters omitted": "characters omitted",
    "could not be judged": "could not be judged and have no insights",
    "intervals may overlap": "Prompts whose own intervals overlap may still differ.",
    "messages omitted": "… 60 messages omitted …",
    "no insights yet": "No conversation has insights yet",
    "no optimization": "optimizations (none was run)",
    "no transcripts": "examples (no transcript of an ended conversation)",
    "not a docx": r"cannot be written as a \.docx file \('r\.docx'\)",
    "not without a suffix": "cannot be written as a file without a suffix",
    "not an image": "is not a PNG or JPEG image",
    "only by id": "look them up by their ids",
    "redacted": "This report contains no words of the conversations",
    "rows changed": "Rows were removed from or added to the table after it was read from the service.",
    "word list": "A word list judged these conversations",
}
