"""The topics that the service keeps of a prompt, and a person's changes to them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import NotFound
from promptlift.schema.topics import FEWEST, Topic
from promptlift.words.figures import counted

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.schema.topics import PromptTopics
    from promptlift.workspace.session import Session

_LONGEST_WAIT: Final = 60.0
_PAUSE: Final = 0.1


class Topics:
    """The topics of a prompt. A change holds for every later run of the service, and the opposite value undoes it.

    Parameters
    ----------
    lift
        The workspace.
    prompt_id
        The prompt.
    """

    def __init__(self, lift: Session, prompt_id: str) -> None:
        self._lift = lift
        self._prompt_id = prompt_id
        self._looking = False
        self._found = self._wait()

    def _wait(self) -> PromptTopics | None:
        """Return the topics; wait up to a minute for the first ones, and until the conversations have theirs."""
        api, deadline = self._lift.client.prompts, time.monotonic() + _LONGEST_WAIT
        while True:
            late = time.monotonic() > deadline
            try:
                found = api.topics(self._prompt_id)
                if late or not found.placing:
                    return found
            except NotFound:
                counts = api.status(self._prompt_id).insights
                self._looking = counts is not None and counts.ready >= FEWEST
                if late or not self._looking:
                    return None
            time.sleep(_PAUSE)

    @property
    def known(self) -> list[Topic]:
        """The topics, the largest first; those that vanished come last."""
        return [] if self._found is None else self._found.topics

    @property
    def table(self) -> pd.DataFrame:
        """One row per topic, the largest first: its number ``id``, ``name``, ``n`` of the compared conversations, ``stability``, and what was changed."""
        import pandas as pd  # noqa: PLC0415  pandas takes its time to load

        return pd.DataFrame([one.model_dump() for one in self.known], columns=list(Topic.model_fields))

    def change(self, topic: str | int, **changes: Any) -> Topics:
        """Change a topic, and wait until the conversations have it; the opposite value undoes a change.

        Parameters
        ----------
        topic
            Its name or number.
        **changes
            ``name`` (None restores the name that was found); ``pinned`` (it stays, found again or not); ``excluded`` (its conversations
            have no topic); ``merged_into`` (name or number of the topic with which it is counted, None for itself); ``split`` (it is
            divided by what differs within it).

        Raises
        ------
        ValueError
            When there is no such topic.
        InvalidState
            When a topic cannot be split; the message says why.
        """
        into = changes.get("merged_into")
        if into is not None:
            changes["merged_into"] = self._number(into)
        self._lift.client.prompts.update_topic(self._prompt_id, self._number(topic), **changes)
        self._found = self._wait()
        return self

    def _number(self, topic: str | int) -> int:
        known = {one.name: one.id for one in self.known}
        if isinstance(topic, int):
            return topic
        if topic not in known:
            raise ValueError(f"There is no topic {topic!r}; there are: {', '.join(known) or 'none'}")
        return known[topic]

    def __repr__(self) -> str:
        if self._found is None:
            if self._looking:
                return "No topics yet: the service is looking for them. Ask again in a minute."
            return f"No topics yet: the service looks for them once {FEWEST} conversations are judged."
        there = [one for one in self._found.topics if one.vanished_at is None and not one.split]
        new = sum(one.found_at == self._found.found_at for one in there)
        gone = [one.name for one in self._found.topics if one.vanished_at == self._found.found_at]
        if not there and not gone:
            return f"No topics in {self._found.n_compared:,} conversations: they share their words no more than by chance."
        lines = [
            f"- {one.name}: {one.n:,} of {self._found.n_compared:,} compared conversations" for one in there
        ]
        vanished = f", vanished: {', '.join(gone)}" if gone else ""
        return "\n".join([f"{counted(len(there), 'topic')}, {new} new{vanished}", *lines])
