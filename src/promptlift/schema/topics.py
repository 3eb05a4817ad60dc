"""Topics that the service finds in a prompt's conversations, keeps from day to day, and a person may change.

None of this is in the specification: every field and path is ours.
"""

from typing import Annotated, Final

from pydantic import Field

from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, LinkedModel, Name, RequestModel, UtcTime

FEWEST: Final = 30
"""Fewest conversations among which topics are looked for."""


class Topic(ApiModel):
    """A topic. Its id stays the same for as long as it is found in the same conversations."""

    id: Annotated[int, Column()]
    """Number of the topic, never given twice."""
    name: Annotated[str, Column()]
    """What tables call it: a person's name for it, a model's, or its most telling words."""
    words: Annotated[str, Column()]
    """Its most telling words."""
    named_by: Annotated[str, Column(categories=("words", "model", "person"))] = "words"
    """Whose name it is: of ``words``, of a ``model`` or of a ``person``."""
    summary: Annotated[str | None, Column()] = None
    """What its conversations are about, in the words of a model."""
    n: Annotated[int, Column(unit="conversations")] = 0
    """How many of the compared conversations belong to it."""
    stability: Annotated[float | None, Column(unit="fraction")] = None
    """Share of it that other draws find again; missing if it was not found anew."""
    pinned: Annotated[bool, Column()] = False
    """Whether it stays where it is, found again or not."""
    excluded: Annotated[bool, Column()] = False
    """Whether its conversations have no topic."""
    merged_into: Annotated[int | None, Column()] = None
    """The topic with which its conversations are counted."""
    part_of: Annotated[int | None, Column()] = None
    """The topic that was split."""
    split: Annotated[bool, Column()] = False
    """Whether it was split: its conversations belong to its parts."""
    typical: list[str] = Field(default_factory=list)
    """Ids of two conversations near its middle."""
    found_at: Annotated[UtcTime, Column()]
    """When it was first found."""
    vanished_at: Annotated[UtcTime | None, Column()] = None
    """When it was no longer found."""


class PromptTopics(LinkedModel):
    """The topics of a prompt, the largest first; those that vanished come last."""

    topics: list[Topic]
    n_compared: int
    """Conversations that were compared."""
    found_at: UtcTime
    """When: a topic with the same ``foundAt`` is new, one with the same ``vanishedAt`` has just vanished."""
    placing: bool = False
    """Whether conversations have yet to move to another topic, after one was split or found anew."""

    def chain(self, number: int) -> list[int]:
        """Return a topic and those into which it is merged in turn: it is counted with the last one."""
        known = {topic.id: topic.merged_into for topic in self.topics}
        chain = [number]
        while (into := known[chain[-1]]) is not None and into in known:
            chain.append(into)
        return chain

    def names(self) -> dict[int, str]:
        """Return the name under which the conversations of each topic are counted; those of excluded topics have none."""
        shown = {topic.id: topic.name for topic in self.topics if not topic.excluded}
        last = {topic.id: self.chain(topic.id)[-1] for topic in self.topics}
        return {number: shown[into] for number, into in last.items() if into in shown}


class TopicUpdate(RequestModel):
    """What a person changes about a topic. Each change is undone by the opposite value."""

    topic: int
    """Its number."""
    name: Name | None = None
    """A name; null restores the name that was found."""
    pinned: bool | None = None
    """Whether it stays, found again or not"""
    excluded: bool | None = None
    """Whether its conversations have no topic"""
    merged_into: int | None = None
    """The topic with which it is counted from now on; null separates them"""
    split: bool | None = None
    """Whether it is divided into the topics that differ within it"""
