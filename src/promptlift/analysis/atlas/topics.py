"""Find the topics of conversations: their names, shares and outcomes, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.atlas.measures import READ, cluster_measures
from promptlift.analysis.changes import changes
from promptlift.analysis.engines import is_remote, named, open_table, parts_of
from promptlift.analysis.reading import basis_of, collect, facts_of, names_of, require, with_provenance
from promptlift.analysis.verdicts import read_outcome
from promptlift.clustering.grouping import SAMPLE, Grouping, Places
from promptlift.clustering.vectors import opening
from promptlift.display import static_html
from promptlift.schema.basis import as_seen_by, may_tell
from promptlift.schema.topics import FEWEST
from promptlift.stats.intervals import check_level
from promptlift.words.figures import counted, known, percent
from promptlift.words.names import name_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.schema.topics import Topic

KEY: Final = "conversation_id"
TEXT: Final = "content"
_SHOWN: Final = 2
_MOST_SHOWN: Final = 12
_FIRST: Final = ("cluster", "name", "n", "share", "share_low", "share_high", "stability")
_CHANGES: Final = {"more": "grown", "fewer": "shrunk"}


@dataclass(frozen=True, repr=False)
class Atlas:
    """Topics that were found in conversations.

    Attributes
    ----------
    table
        One row per topic, the largest first: ``cluster`` (its number), ``name``, ``n`` conversations, their ``share`` of all with
        ``share_low`` and ``share_high`` (fractions, Wilson), ``stability`` (share of it that other draws find again), where the
        conversations have them ``rate`` of the outcome with its ends and ``n_known``, ``sentiment`` (mean score relative to the
        usual one), ``cost``, ``latency_ms``, ``first_seen``, ``last_seen``; and the ids of two ``typical`` conversations and of
        two ``borderline`` ones, which nearly belong elsewhere. ``attrs["promptlift"]`` has in ``sentences`` what each row shows.
    assignments
        One row per conversation: ``conversation_id``, ``cluster`` and ``name``, missing for conversations of no topic.
    conversations
        The conversations as they were given (of an engine, the columns that were read without the texts), with the column ``topic``,
        the name.
    """

    table: pd.DataFrame
    assignments: pd.DataFrame
    conversations: pd.DataFrame

    @property
    def sentence(self) -> str:
        """How many topics there are, and which is the largest."""
        n = len(self.assignments)
        if self.table.empty:
            if n < FEWEST:
                return f"{counted(n, 'conversation')} are too few for topics: at least {FEWEST} are needed."
            return f"No topics were found in {counted(n, 'conversation')}: they share their words no more than by chance."
        first = self.table.iloc[0]
        rest = int(self.assignments["cluster"].isna().sum())
        belong = (
            f"; {counted(rest, 'conversation')} {'belongs' if rest == 1 else 'belong'} to none"
            if rest
            else ""
        )
        (share,) = percent(float(first["share"]))
        return f"{counted(len(self.table), 'topic')} in {counted(n, 'conversation')}{belong}. The largest, {name_in_words(first['name'])}, has {share}."

    def changes(
        self,
        window: Any = None,
        *,
        at: Any = None,
        periods: Any = None,
        versions: Any = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Compute which topics are new, vanished, grown or shrunk, adjusted by Holm over all of them.

        Parameters
        ----------
        window, at, periods
            The two spans of time, as for ``analysis.changes``: ``window="7D"`` compares the last 7 days with the 7 before them.
        versions
            ``lift.versions(prompt)``: which of them went live in the meantime is said, as one of them may be the reason.
        level
            Coverage of each interval, and of the decision over all rows together.

        Returns
        -------
        DataFrame
            As ``analysis.changes`` gives it, with ``cluster`` and ``name``; ``change`` is ``new``, ``vanished``, ``grown``,
            ``shrunk`` or ``unclear``; with ``versions``, ``new_versions`` are the numbers of those that went live between the begin
            of the first span and the end of the second. ``attrs["promptlift"]`` has a ``summary``.

        Raises
        ------
        FrameError
            When the conversations have no times.
        ValueError
            When the arguments do not determine what to compare.
        """
        number = self.assignments["cluster"]
        topics = [[] if pd.isna(one) else [str(one)] for one in number]
        dated = self.conversations.assign(topics=np.array([*topics, None], object)[:-1], has_insights=True)
        found = changes(dated, of="topics", at=at, window=window, periods=periods, top=None, level=level)
        facts = facts_of(found)
        found = found.rename(columns={"topic": "cluster"}).astype({"cluster": "int64"})
        found.insert(1, "name", found["cluster"].map(self.table.set_index("cluster")["name"]))
        change = found["change"].replace(_CHANGES)
        change = change.mask(change.eq("grown") & found["n_before"].eq(0), "new")
        found["change"] = change.mask(change.eq("shrunk") & found["n_after"].eq(0), "vanished")
        marks = []
        if versions is not None:
            require(versions, ["number", "created_at"], of="versions")
            live = collect(versions, ["number", "created_at"]).sort_values("number")
            live = live[live["number"].gt(1)]
            if facts["before_from"] is not None:
                live = live[live["created_at"].ge(facts["before_from"])]
            if facts["after_to"] is not None:
                live = live[live["created_at"].lt(facts["after_to"])]
            marks = live.to_dict("records")
            found["new_versions"] = [[mark["number"] for mark in marks]] * len(found)
        clear = found[found["change"].ne("unclear")]
        named = ", ".join(
            f"{name_in_words(row['name'])} ({row['change']})" for row in clear.to_dict("records")
        )
        said = [
            f"{len(clear)} of {counted(len(found), 'topic')} changed clearly{f': {named}' if named else ''}."
        ]
        said += [f"Version {mark['number']} went live on {mark['created_at']:%Y-%m-%d}." for mark in marks]
        found.attrs["promptlift"] = {**facts, "table": "atlas_changes", "summary": " ".join(said)}
        return found

    def by_gain(self) -> pd.DataFrame:
        """Return the table with the topic that has the most failures first: its share times its rate of failure.

        Without outcomes, or where a word list judged, it has no rates, and the largest topic is first.
        """
        basis = facts_of(self.table)["basis"]
        if "rate" not in self.table or not may_tell(basis):
            return self.table.drop(columns=["n_known", "rate", "rate_low", "rate_high"], errors="ignore")
        gain = self.table["share"] * (1.0 - self.table["rate"])
        return self.table.loc[gain.sort_values(ascending=False, kind="stable").index]

    def __str__(self) -> str:
        return "\n".join(
            [self.sentence, *(f"- {line}" for line in facts_of(self.table)["sentences"][:_MOST_SHOWN])]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self.table.head(_MOST_SHOWN)
        headers = [
            "topic",
            "conversations",
            "share",
            *([f"completed{as_seen_by(facts_of(table)['basis'])}"] if "rate" in table else []),
            "found again",
        ]
        rows = [
            [
                name_in_words(row["name"]), f"{row['n']:,}", _interval(row, "share"),
                *([_interval(row, "rate")] if "rate" in table else []), percent(row["stability"])[0],
            ]
            for row in table.to_dict("records")
        ]  # fmt: skip
        parts = [static_html.table(headers, rows, numbers=range(1, len(headers)))] if rows else []
        return str(static_html.root(static_html.paragraph(self.sentence), *parts))


def atlas(
    conversations: Any,
    *,
    contents: Any = None,
    outcome: str = "task_completed",
    seed: int = 0,
    level: float = 0.95,
) -> Atlas:
    """Find the topics of conversations, and name them in the conversations' own words.

    What users asked, their first turns above all, and the tools that were called are compared by TF-IDF in 50 dimensions. A hundred
    partitions into different numbers of parts, each of another 80% of the conversations, vote on which belong together; the
    number of topics is that on which they agree over the longest range. No word list, language or number is given. Where words
    shuffled between the conversations make topics as well, none is named. Of more than 3,000 conversations that many, drawn at
    random, are compared, and the rest belong to the nearest topic. Of a table of DuckDB, Spark or Ibis
    only a part of the texts is in memory at once.

    Parameters
    ----------
    conversations
        Table with ``conversation_id`` and ``content``, such as ``lift.conversations(content=True)``; and, if there, the outcome,
        ``sentiment_score``, ``cost``, ``latency_ms``, ``started_at`` or ``created_at``.
    contents
        Instead of the column, a table of its own with ``conversation_id`` and ``content``: with ``snapshot.scan()`` it is
        ``snapshot.scan("details")``.
    outcome
        Column of true and false whose rate each topic gets.
    seed
        Of all draws: the same conversations and seed give the same topics.
    level
        Coverage of each interval.

    Returns
    -------
    Atlas
        ``table``, ``assignments``, ``changes(window="7D")`` and a sentence.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument cannot be used.
    """
    level, rng = check_level(level), np.random.default_rng(seed)
    source = conversations if contents is None else contents
    if contents is not None or is_remote(conversations):
        frame, outcome = read_with(conversations, outcome, texts=source)
        if is_remote(conversations):
            frame = frame.sort_values(KEY, ignore_index=True)
        found, places = _of_engine(source, pd.Index(frame[KEY]), rng)
    else:
        frame, outcome = read_with(conversations, outcome, TEXT)
        found, places = Grouping.of(frame.pop(TEXT).array, opening, rng)
    ids, labels = frame[KEY].to_numpy(object), places.labels
    members = [np.flatnonzero(labels == place) for place in range(found.clusters.count)]

    def least(values: NDArray[np.float64]) -> list[list[str]]:
        return [
            [str(ids[at]) for at in some[np.argsort(values[some], kind="stable")][:_SHOWN]]
            for some in members
        ]

    topics = pd.DataFrame(
        {
            "cluster": np.arange(1, len(members) + 1),
            "name": pd.Series(found.names, dtype="str"),
            "stability": found.clusters.stability,
            "typical": pd.Series(least(-places.closeness), dtype="object"),
            "borderline": pd.Series(least(places.margins), dtype="object"),
        }
    )
    return _atlas_of(conversations, frame, labels, topics, outcome, level, seed=seed)


def kept_atlas(conversations: pd.DataFrame, known: Sequence[Topic], *, level: float) -> Atlas:
    """Return the atlas of the topics that conversations of one prompt have in their column ``topics``, as the service keeps them.

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
    of_name = {topic.name: (topic.id, topic.stability, topic.typical) for topic in known}
    first = pd.Series([next(iter(one), None) for one in frame.pop("topics")], dtype="str")
    names = first.value_counts().sort_index().sort_values(ascending=False, kind="stable").index
    # A name that no topic has any more was changed since; its number is none of theirs.
    unknown = max([0, *(topic.id for topic in known)]) + 1
    rows = [of_name.get(name, (at, None, [])) for at, name in enumerate(names, start=unknown)]
    topics = pd.DataFrame(rows, columns=["cluster", "stability", "typical"])
    topics = topics.astype({"cluster": "int64", "stability": "float64"}).assign(name=names.astype("str"))
    labels = names.get_indexer(pd.Index(first))
    return _atlas_of(conversations, frame, labels, topics, outcome, level)


def _atlas_of(
    conversations: Any,
    frame: pd.DataFrame,
    labels: NDArray[np.intp],
    topics: pd.DataFrame,
    outcome: str,
    level: float,
    **facts: Any,
) -> Atlas:
    """Return the atlas of topics by the place of each conversation's among them, -1 for none."""
    measured = cluster_measures(frame, labels, len(topics), outcome=outcome, level=level)
    columns = dict.fromkeys([*_FIRST, *measured, *topics])
    table = topics.assign(**measured)[[*columns]]
    table = table.sort_values(["n", "cluster"], ascending=[False, True], ignore_index=True)
    basis = basis_of(conversations, outcome)
    facts |= {"outcome": outcome, "level": level, "basis": basis, "n": len(frame)}
    table = with_provenance(table, conversations, "atlas", **facts)
    table.attrs["promptlift"]["sentences"] = [_sentence(row, basis) for row in table.to_dict("records")]
    places = pd.Series(labels)
    number, name = places.map(topics["cluster"]).astype("Int64"), places.map(topics["name"]).astype("str")
    assignments = pd.DataFrame({KEY: frame[KEY], "cluster": number, "name": name})
    assignments = with_provenance(assignments, conversations, "atlas_assignments", **facts)
    kept = conversations if isinstance(conversations, pd.DataFrame) else frame
    return Atlas(table, assignments, kept.assign(topic=name.array))


def read_with(conversations: Any, outcome: str, *more: str, texts: Any = None) -> tuple[pd.DataFrame, str]:
    """Return the columns that are needed in pandas, and more, and the column of the outcome.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    table, outcome = read_outcome(conversations, outcome)
    require(table, [KEY])
    hint = 'Read the table with lift.conversations(content=True, insights=True), or pass contents=snapshot.scan("details").'
    require(table if texts is None else texts, [KEY, TEXT], hint=hint)
    present = set(names_of(table))
    wanted = dict.fromkeys([KEY, outcome, *READ, *more])
    return collect(table, [name for name in wanted if name in present]).reset_index(drop=True), outcome


def _of_engine(table: Any, ids: pd.Index[Any], rng: np.random.Generator) -> tuple[Grouping, Places]:
    """Group the conversations of an engine: read once to draw a sample, and once more to place the rest."""
    if not ids.is_unique:
        raise ValueError("A conversation is in the table more than once. Pass one row for each.")

    def texts() -> Iterator[tuple[NDArray[np.intp], Any]]:
        for part in parts_of(open_table(table).select(named(KEY), named(TEXT))):
            at = ids.get_indexer(pd.Index(part[KEY]))
            yield at[at >= 0], part[TEXT].array[at >= 0]

    n = len(ids)
    drawn = np.sort(rng.spawn(1)[0].choice(n, min(n, SAMPLE), replace=False))
    sample = np.empty(len(drawn), object)
    for at, contents in texts():
        chosen = np.flatnonzero(np.isin(at, drawn))
        sample[np.searchsorted(drawn, at[chosen])] = contents[chosen]
    found, sampled = Grouping.of(sample, opening, rng)
    places = Places(np.full(n, -1), np.zeros(n), np.zeros(n))
    for at, contents in texts() if n > SAMPLE else ():
        for every, some in zip(places, found.place(contents), strict=True):
            every[at] = some
    for every, some in zip(places, sampled, strict=True):
        every[drawn] = some
    return found, places


def _interval(row: Mapping[Any, Any], column: str) -> str:
    if not known(row[column]):
        return "not known"
    value, low, high = percent(row[column], row[f"{column}_low"], row[f"{column}_high"])
    return f"{value} ({low} to {high})"


def _sentence(row: Mapping[Any, Any], basis: str | None) -> str:
    """Return what a row of the table shows."""
    said = f"{name_in_words(row['name'])}: {_interval(row, 'share')} of the conversations"
    if known(row.get("rate")):
        said += f"; {_interval(row, 'rate')} completed their task{as_seen_by(basis)}"
    return f"{said}."
