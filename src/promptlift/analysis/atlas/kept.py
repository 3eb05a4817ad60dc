"""The atlas of topics that the service keeps: found there, named by its words, a model or a person, and counted here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from promptlift.analysis.atlas.measures import cluster_measures
from promptlift.analysis.atlas.topics import KEY, Atlas, read_with, sentence_of
from promptlift.analysis.reading import basis_of, with_provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.topics import Topic


def kept_atlas(conversations: pd.DataFrame, known: Sequence[Topic], *, level: float) -> Atlas:
    """Return the atlas of the topics that conversations of one prompt have in their column ``topics``.

    Parameters
    ----------
    conversations
        Table with ``topics`` and ``content``, as for ``analysis.atlas``.
    known
        The topics that have these names; they give the numbers, stability and typical conversations. Without them, as in a
        snapshot, the largest is 1.
    level
        Coverage of each interval.
    """
    frame, outcome = read_with(conversations, "task_completed", "topics")
    of_name = {topic.name: topic for topic in known}
    first = pd.Series([next(iter(one), None) for one in frame.pop("topics")], dtype="str")
    names = first.value_counts().sort_index().sort_values(ascending=False, kind="stable").index
    labels = names.get_indexer(pd.Index(first))
    topics = [of_name.get(name) for name in names]
    # A name that no topic has any more was changed since; its number is none of theirs.
    unknown = max([0, *(topic.id for topic in known)]) + 1
    numbers = np.array(
        [at if topic is None else topic.id for at, topic in enumerate(topics, start=unknown)], np.int64
    )
    stability = [None if topic is None else topic.stability for topic in topics]
    measured = cluster_measures(frame, labels, len(names), outcome=outcome, level=level)
    table = pd.DataFrame({"cluster": numbers, "name": pd.Series(names, dtype="str"), **measured})
    table.insert(6, "stability", np.array(stability, np.float64))
    table["typical"] = pd.Series([[] if topic is None else topic.typical for topic in topics], dtype="object")
    basis = basis_of(conversations, outcome)
    about = {"outcome": outcome, "level": level, "basis": basis, "n": len(frame)}
    table = with_provenance(table, conversations, "atlas", **about)
    table.attrs["promptlift"]["sentences"] = [sentence_of(row, basis) for row in table.to_dict("records")]
    number = pd.Series(np.append(numbers, 0)[labels], dtype="Int64").where(labels >= 0)
    assignments = pd.DataFrame({KEY: frame[KEY], "cluster": number, "name": first})
    assignments = with_provenance(assignments, conversations, "atlas_assignments", **about)
    return Atlas(table, assignments, conversations.assign(topic=first.array))
