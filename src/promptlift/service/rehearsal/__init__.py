"""The stand-in for a language model, for when no endpoint is configured: its answers are played, not thought.

It carries out the tasks of an optimization (write variants, write scenarios, answer as the assistant, speak as a
persona, judge) from the objects that describe them; no sentence that is meant for a language model plays a part.
With it every screen of an optimization can be seen: variants, a winner, no winner, a winner that a guardrail withholds,
staged versions. **Nothing that it says is about a real prompt.**

How its truth is made (module ``truth``):

- A text's ability is a number drawn from the seed of the run, plus an effect for each of the built-in rewrites whose
  marks it carries. The effects are a fixed list dealt to the rewrites by the seed: in two of three runs some of them
  are much better, in the others none is; some do nothing, some do harm, and now and then a better one is unfriendly,
  so that the sentiment guardrail has something to find. Apart from cures the words of the prompt play no part.
- Every opening and every persona has a difficulty of its own, drawn from the seed.
- Whether a conversation succeeds, and in which turn, is one draw from ability and difficulty.
- Every opening has a cause for which conversations with it fail, and each cause a cure: a text that holds it mends a
  share of these failures, where the seed has anything better at all (module ``causes``). A writer of edits knows only
  the symptoms in the transcripts that it is shown, so a search learns (module ``reflection``).
- Assistant and persona then speak lines from a fixed list, and the judge recognises these lines.

Everything follows from the seed and the task by hashing, so the same run gives the same result, also when it was
interrupted. Names and rationales of variants, titles of scenarios, first answers of the assistant and summaries say
that they are a rehearsal. No tokens are counted, because none are used.
"""

from __future__ import annotations

from promptlift.service.rehearsal.tasks import Rehearsal

__all__ = ["Rehearsal"]
