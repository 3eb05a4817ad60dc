"""The topics of a prompt, and a person's changes to them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.topics import Topic
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid, invalid_state, not_found
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.topics import UNCUT, new_topic, sample, waiting_with
from promptlift.service.store import accounts, topics
from promptlift.words.names import distinct_lines, one_line

if TYPE_CHECKING:
    from promptlift.schema.topics import PromptTopics, TopicUpdate
    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.prompts import AtlasRow

# Splitting a topic takes seconds of processor time.
_SPLITTING: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="splitting")


@answers(endpoints.PROMPTS_TOPICS)
def get(call: Call) -> PromptTopics:
    """Return the topics."""
    with call.read() as rows:
        return _shown(_kept(call, rows))


@answers(endpoints.PROMPTS_UPDATE_TOPIC, threads=_SPLITTING)
def update(call: Call[TopicUpdate]) -> PromptTopics:
    """Change a topic; conversations of one that is split or joined get another topic soon."""
    body, given = call.body, call.body.model_fields_set
    with call.read() as rows:
        version = _kept(call, rows).version
        contents = sample(rows.core, call.account_id, call.id) if body.split else {}
        exclusions = read_exclusions(accounts.general(rows.core, call.account_id)["excludedDataAndTopics"])
    with call.write() as rows:
        row = _kept(call, rows, lock=True)
        if row.version != version:
            raise invalid_state("The topics were found anew meanwhile; look at them and change them again")
        found = row.found.model_copy(deep=True)
        known = {topic.id: topic for topic in found.topics}
        topic = known.get(body.topic)
        if topic is None:
            raise not_found("Topic")
        if "merged_into" in given:
            _merge(found, topic, body.merged_into)
        if body.pinned is not None:
            topic.pinned = body.pinned
        if body.excluded is not None:
            topic.excluded = body.excluded
        moved: list[int] = []
        if body.split is not None and body.split != topic.split:
            moved = _split(row, found, topic, [*contents.values()], exclusions)
        if "name" in given:
            others = [one.name for one in found.topics if one is not topic]
            name = one_line(topic.words if body.name is None else body.name)
            if body.name is not None and name in others:
                raise invalid({"name": "another topic has this name; merge them to count them together"})
            topic.name = distinct_lines([*others, name], UNCUT)[-1]
            topic.named_by = "words" if body.name is None else "person"
        topics.change(rows, row, found, waiting=waiting_with(row.waiting, moved))
        return _shown(row)


def _kept(call: Call[TopicUpdate] | Call, rows: Rows, *, lock: bool = False) -> AtlasRow:
    prompt = call.prompt(rows)
    row = topics.of_prompt(rows, prompt.id, lock=lock)
    if row is None:
        raise not_found("Topics")
    return row


def _shown(row: AtlasRow) -> PromptTopics:
    every = [Topic(**dict(one)) for one in row.found.topics]  # answers leave out fields that were never set
    shown = {"topics": every, "prompt_id": row.prompt_id, "placing": row.waiting is not None}
    return row.found.model_copy(update=shown)


def _merge(found: PromptTopics, topic: Topic, into: int | None) -> None:
    known = {one.id for one in found.topics}
    if into is not None and (into not in known or topic.id in found.chain(into)):
        raise invalid(
            {"mergedInto": "must be another topic of this prompt that is not counted with this one"}
        )
    topic.merged_into = into


def _split(
    row: AtlasRow, found: PromptTopics, topic: Topic, contents: list[str], exclusions: Exclusions
) -> list[int]:
    """Divide a topic into parts, or join them again; return the topics whose conversations get another one."""
    from promptlift.clustering.kept import KeptTopics  # noqa: PLC0415 - many services never group

    kept = None if row.space is None else KeptTopics.from_bytes(row.space)
    if kept is None:
        raise invalid_state("There are no topics to divide")
    if topic.split:
        parts = [one.id for one in found.topics if one.part_of == topic.id]
        if any(one.split for one in found.topics if one.id in parts):
            raise invalid_state("A part of this topic is split as well; join its parts first")
        moved = parts
        kept = kept.joined(topic.id, parts)
        topic.n = sum(one.n for one in found.topics if one.id in parts)
        found.topics = [one for one in found.topics if one.id not in parts]
        for one in found.topics:
            one.merged_into = None if one.merged_into in parts else one.merged_into
    else:
        moved = [topic.id]
        divided = kept.split(topic.id, contents, first=row.next_id)
        if divided is None:
            raise invalid_state("The conversations of this topic do not differ enough to divide it")
        kept, new = divided
        for piece in new:
            part = new_topic(piece, found.topics, clock.moment(), exclusions)
            part.part_of = topic.id
            found.topics.append(part)
        row.next_id += len(new)
    topic.split = not topic.split
    row.space = kept.to_bytes()
    return moved
