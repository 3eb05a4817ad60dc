"""The stand-in for a language model, for when no endpoint is configured: its answers are played, not thought.

With it every screen of an optimization can be seen: variants, a winner, no winner, a winner that a guardrail withholds,
staged versions. **Nothing that it says is about a real prompt.**

The seed of the run decides whether any of ten fixed rules helps, and which. A variant or an edit adds one of them to the
prompt; how often a conversation succeeds follows from the rules in the text and from the opening, and nothing else.
Assistant and person speak fixed lines, and the judge recognises these lines. The same run gives the same result, also
when it was interrupted.

Names and rationales of variants, symptoms of edits, titles of scenarios, first answers of the assistant and summaries say
that they are a rehearsal. No tokens are counted, because none are used.
"""

from __future__ import annotations

from promptlift.service.rehearsal.tasks import Rehearsal

__all__ = ["Rehearsal"]
