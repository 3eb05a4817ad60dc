"""The stand-in for a language model, for when no endpoint is configured: its answers are scripted.

With it every screen of an optimization can be seen: variants, a winner, no winner, a winner that a guardrail
withholds, staged versions. ****None of its answers say anything about a real prompt.**

The seed of the run decides whether any of ten fixed rules helps, and which. A variant or an edit adds one of
them to the prompt; how often a conversation succeeds depends only on the rules in the text and the opening.
Assistant and person use fixed lines, which the judge recognizes. The same run gives the same result, even if
interrupted.

Names and rationales of variants, symptoms of edits, titles of scenarios, first answers of the assistant and
summaries are marked as a rehearsal. No tokens are counted, because none are used.
"""

from __future__ import annotations

from promptlift.service.rehearsal.tasks import Rehearsal

__all__ = ["Rehearsal"]
