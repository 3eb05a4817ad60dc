"""Why conversations fail: the endings that fail more often than others of the same topic, in the logs' own words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from promptlift.analysis.atlas.topics import KEY, TEXT, read_with
from promptlift.analysis.corrected import judged_rows
from promptlift.analysis.reading import agreement_of, basis_of, collect, count_by_key, with_provenance
from promptlift.analysis.segment_rows import judged_outcomes, task_numbers
from promptlift.analysis.segments import CONTRAST, task_of
from promptlift.analysis.verdicts import judge_facts
from promptlift.clustering.grouping import Grouping
from promptlift.clustering.names import names, telling_terms
from promptlift.clustering.vectors import (
    ASSISTANT,
    TOOL_FAILED,
    TURN_CHARS,
    ending,
    opening,
    start_of_end,
    turns_of,
    words_of,
)
from promptlift.schema.basis import UNTOLD, WAYS, as_seen_by, may_say_clearly
from promptlift.schema.transcript import is_error, split_call
from promptlift.stats.differences import FEWEST, design_effect, stratified_difference
from promptlift.stats.intervals import check_level, rate_and_interval
from promptlift.stats.multiplicity import holm
from promptlift.words.figures import counted, figures, known, of_p, percent, signed_figures
from promptlift.words.names import name_in_words, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.clustering.grouping import Places, Texts
    from promptlift.clustering.names import Term

_QUOTATIONS: Final = 3
_AROUND: Final = 100
_COMPARED: Final = 300
# An ending is unusual that few conversations have, and that other draws find again.
_UNUSUAL: Final = 0.1
_STABLE: Final = 0.8
_OF_EDITS: Final = ("operation", "symptom", "anchor", "text", "effect", "state")
_LISTED: Final = ("name", "n", "share", "share_low", "share_high", "turn", "quotations", "quoted", "tried")
_FAILING: Final = (
    "name", "n", "n_failed", "share", "share_low", "share_high", *CONTRAST, "p_holm", "turn", "quotations", "quoted", "tried",
)  # fmt: skip


@dataclass(frozen=True)
class _Endings:
    """Conversations, grouped by how they ended."""

    contents: Texts
    ids: NDArray[Any]
    groups: Grouping
    places: Places
    edits: list[dict[Any, Any]]

    def contrasted(self, failures: NDArray[np.bool_], successes: NDArray[np.bool_]) -> list[Term]:
        """Return the terms in which the ends of failures differ most from those of successes, a few hundred of each."""
        these, others = (np.flatnonzero(some)[:_COMPARED] for some in (failures, successes))
        documents = [ending(turns_of(content)) for content in self.contents[[*these, *others]]]
        labels = np.repeat([0, -1], [len(these), len(others)])
        return telling_terms(labels, 1, documents)[0]

    def evidence(self, members: NDArray[np.bool_], words: Sequence[str]) -> dict[str, Any]:
        """Return where words are last found, and quotations of the most typical conversations."""
        typical = np.flatnonzero(members)
        typical = typical[np.argsort(-self.places.closeness[typical], kind="stable")]
        read = ((place, _last(turns_of(self.contents[place]), words)) for place in typical[:_COMPARED])
        found = [(str(self.ids[place]), *one) for place, one in read if one is not None]
        quoted = {text: conversation for conversation, _, text in reversed(found)}
        shown = list(dict.fromkeys(text for *_, text in found))[:_QUOTATIONS]
        return {
            "turn": median(place + 1 for _, place, _ in found) if found else math.nan,
            "quotations": shown,
            "quoted": [quoted[text] for text in shown],
            "tried": [_edit_in_words(edit) for edit in self.edits if _is_against(edit, words)],
        }


class Contrast(NamedTuple):
    """How many points more often a group fails than others of the same topic, with its interval and p-value."""

    points: float
    low: float
    high: float
    p: float


def why(
    conversations: Any,
    *,
    outcome: str = "task_completed",
    labels: Any = None,
    edits: Any = None,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Group failed conversations by how they ended, in the logs' own words, and contrast them with successes.

    Conversations are grouped by the turns before their end, without their outcome; named are the groups that fail more often than other
    conversations of the same topic, adjusted by Holm over all groups. Conversations of one task (``task_id``) count together.
    This needs outcomes, labels or a judge that labels prove; otherwise endings that are unusual are listed, and nothing is said
    of failures. It is an observation: an ending need not be the cause.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``content`` and the outcome, such as
        ``lift.conversations(content=True, insights=True)``.
    outcome
        Column of true and false.
    labels
        People's labels: if given, they are the outcome, and conversations without a label are left out.
    edits
        What optimizations tried, such as ``lift.edits(prompt_id="Support assistant")``.
    seed
        Of all draws: the same conversations and seed give the same groups.
    level
        Coverage of each interval; ``1 - level`` bounds the chance that any group is named falsely.

    Returns
    -------
    DataFrame
        One row per group, that with the most failures first: ``name``, ``n`` conversations, ``n_failed``, ``share`` of all
        failures with ``share_low`` and ``share_high`` (fractions, Wilson), ``difference_points`` by which it fails more often than
        others of the same topic (Mantel-Haenszel) with ``…_low`` and ``…_high``, ``p_holm``, ``turn`` (median of the last turns that have
        a word of its name, 1 for the first), three ``quotations`` with the ids of their conversations, ``quoted``, and where there are any, ``tried``: the edits
        whose symptom or text has at least two words of the name, with what they were worth and what became of them. Where
        failures cannot be told, ``name``, ``n``, ``share`` of all conversations, ``turn`` and the quotations of unusual endings.
        ``attrs["promptlift"]`` has a ``summary`` and in ``sentences`` what each row shows.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument cannot be used.
    """
    level = check_level(level)
    task = task_of(conversations)
    frame, outcome = read_with(conversations, outcome, TEXT, *([task] if task else []))
    basis = basis_of(conversations, outcome)
    if labels is not None:
        said = judged_rows(frame, labels, outcome).said
        frame = frame.assign(**{outcome: pd.Series(said, frame.index).astype("Float64").astype("boolean")})
        basis = "label"
    agreement = agreement_of(judge_facts(conversations) if outcome == "task_completed" else {})
    told = outcome in frame and may_say_clearly(basis, agreement)
    if told:
        known, done = judged_outcomes(frame, outcome)
        frame, failed = frame[known].reset_index(drop=True), ~done[known]
    contents, rng = frame[TEXT].array, np.random.default_rng(seed)
    topics = Grouping.of(contents, opening, rng)[1].labels
    tried = [] if edits is None else collect(edits, _OF_EDITS).to_dict("records")
    endings = _Endings(
        contents, frame[KEY].to_numpy(object), *Grouping.of(contents, ending, rng, within=topics), tried
    )
    facts: dict[str, Any] = {
        "outcome": outcome,
        "basis": basis,
        "level": level,
        "seed": seed,
        "n": len(frame),
    }
    if not told:
        table = _unusual(endings, level)
        facts["summary"] = f"What fails {UNTOLD}; listed is what is unusual. {' '.join(WAYS)}"
    else:
        tasks = task_numbers(frame[task]) if task else None
        table, facts["n_tests"] = _failing(endings, failed, topics, tasks, level)
        facts |= {"n_failed": int(failed.sum()), "task": task}
        facts["summary"] = _summary(table, facts)
    if not table["tried"].map(len).any():
        table = table.drop(columns="tried")
    facts["sentences"] = [_sentence(row, basis) for row in table.to_dict("records")]
    return with_provenance(table, conversations, "why", **facts)


def contrast(
    members: NDArray[np.bool_],
    failed: NDArray[np.bool_],
    topics: NDArray[np.intp],
    tasks: tuple[NDArray[np.intp], int] | None,
    *,
    level: float = 0.95,
) -> Contrast | None:
    """Compare how often a group fails with the other conversations of its topics; None where either are too few.

    Conversations of one task widen the interval by their design effect.
    """
    count = int(topics.max(initial=-1)) + 2
    n1, n0, x1, x0 = (
        count_by_key(topics[some] + 1, count, None)
        for some in (members, ~members, members & failed, ~members & failed)
    )
    shared = (n1 > 0) & (n0 > 0)
    if min(n1[shared].sum(), n0[shared].sum()) < FEWEST:
        return None
    found = stratified_difference(x1[shared], n1[shared], x0[shared], n0[shared], level=level)
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    error = (found.high - found.low) / (2.0 * z)
    if tasks is not None:
        number, size = tasks
        by_task = (
            np.stack(
                [count_by_key(number[some], size + 1, None) for some in (side & failed, side & ~failed)],
                axis=1,
            )
            for side in (members, ~members)
        )
        error *= max(1.0, design_effect(*by_task)) ** 0.5
    p = math.erfc(abs(found.difference) / error / math.sqrt(2.0))
    low, high = (100.0 * (found.difference + side * z * error) for side in (-1.0, 1.0))
    return Contrast(100.0 * found.difference, low, high, p)


def _failing(
    endings: _Endings,
    failed: NDArray[np.bool_],
    topics: NDArray[np.intp],
    tasks: tuple[NDArray[np.intp], int] | None,
    level: float,
) -> tuple[pd.DataFrame, int]:
    members = {group: endings.places.labels == group for group in range(endings.groups.clusters.count)}
    tests = {group: contrast(some, failed, topics, tasks, level=level) for group, some in members.items()}
    tested = {group: found for group, found in tests.items() if found is not None}
    rows = []
    for (group, found), p_holm in zip(tested.items(), holm([one.p for one in tested.values()]), strict=True):
        if found.points <= 0.0 or p_holm >= 1.0 - level:
            continue
        failures = members[group] & failed
        successes = np.isin(topics, topics[members[group]]) & ~failed
        terms = endings.contrasted(failures, successes) or endings.groups.terms[group]
        n_failed, n = int(failures.sum()), int(members[group].sum())
        contrasted = dict(zip(CONTRAST, found[:3], strict=True))
        rows.append(
            {
                "terms": terms, "n": n, "n_failed": n_failed, **_share(n_failed, int(failed.sum()), level),
                **contrasted, "p_holm": float(p_holm), **endings.evidence(failures, [term.word for term in terms]),
            }
        )  # fmt: skip
    return _table(rows, _FAILING), len(tested)


def _unusual(endings: _Endings, level: float) -> pd.DataFrame:
    groups, rows = endings.groups, []
    for group, (terms, stability) in enumerate(zip(groups.terms, groups.clusters.stability, strict=True)):
        members = endings.places.labels == group
        n = int(members.sum())
        if n <= _UNUSUAL * len(members) and stability >= _STABLE:
            share = _share(n, len(members), level)
            evidence = endings.evidence(members, [term.word for term in terms])
            rows.append({"terms": terms, "n": n, **share, **evidence})
    return _table(rows, _LISTED)


def _table(rows: list[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    rows.sort(key=lambda row: (-row.get("n_failed", 0), -row["n"], row["terms"]))
    called = names([row["terms"] for row in rows])
    named = [{**row, "name": name} for row, name in zip(rows, called, strict=True)]
    return pd.DataFrame(named, columns=list(columns)).astype({"name": "str"})


def _share(part: int, whole: int, level: float) -> dict[str, float]:
    values = rate_and_interval([part], [whole], level=level)
    return {
        name: float(one[0]) for name, one in zip(("share", "share_low", "share_high"), values, strict=True)
    }


def _last(turns: Sequence[Mapping[str, Any]], terms: Sequence[str]) -> tuple[int, str] | None:
    """Return where the last turns last have the surest of the terms that they have, and the text around it.

    Earlier turns more often request than fail.
    """
    for term in terms:
        for place in range(len(turns) - 1, start_of_end(turns) - 1, -1):
            turn = turns[place]
            if (at := _find(term, turn)) >= 0:
                begin = max(0, at - _AROUND)
                text = ("…" if begin else "") + turn["content"][begin : begin + 2 * _AROUND]
                return place, one_line(text, 2 * _AROUND)
    return None


def _find(term: str, turn: Mapping[str, Any]) -> int:
    """Return where a turn has a term, as `ending` reads it; -1 where it has not."""
    text, by_user = str(turn["content"]), turn["role"] == "user"
    if term == TOOL_FAILED:
        return 0 if is_error(text) else -1
    if term.endswith("()"):
        call = None if by_user else split_call(text)
        return 0 if call is not None and f"{call.name}()" == term else -1
    word = term.removeprefix(ASSISTANT)
    if by_user == term.startswith(ASSISTANT) or word not in words_of(text[:TURN_CHARS]):
        return -1
    return text.lower().find(word)


def _is_against(edit: Mapping[Any, Any], terms: Sequence[str]) -> bool:
    said = {*words_of(f"{edit['symptom']} {edit['text']}")}
    words = {term.removeprefix(ASSISTANT) for term in terms}
    return len(words & said) >= min(2, len(words))


def _edit_in_words(edit: Mapping[Any, Any]) -> str:
    worth = f"{signed_figures(edit['effect'])[0]} points" if known(edit["effect"]) else "not measured"
    text = one_line(edit["text"] if known(edit["text"]) else edit["anchor"], _AROUND)
    return f"{edit['operation']} “{text}” ({worth}, {edit['state']})"


def _summary(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    n = facts["n_failed"]
    of_all = f"{counted(n, 'failure')} among {counted(facts['n'], 'conversation')}"
    if table.empty:
        return f"No ending fails clearly more often than others of the same topic: {of_all}, {counted(facts['n_tests'], 'group')} compared."
    named = f"{counted(len(table), 'ending')} {'fails' if len(table) == 1 else 'fail'} more often than others of the same topic"
    (share,) = percent(float(table["n_failed"].sum()) / n)
    return (
        f"{named} and {'has' if len(table) == 1 else 'have'} {share} of {of_all}{as_seen_by(facts['basis'])}."
    )


def _sentence(row: Mapping[Any, Any], basis: str | None) -> str:
    share, low, high = percent(row["share"], row["share_low"], row["share_high"])
    name = name_in_words(row["name"])
    if "difference_points" not in row:
        return f"{name}: an unusual ending of {share} of the conversations ({low} to {high})."
    points, *ends = figures(
        row["difference_points"], row["difference_points_low"], row["difference_points_high"]
    )
    tried = "; ".join(row.get("tried", []))
    return (
        f"{name}: {share} of the failures ({low} to {high}); these conversations fail {points} points more often "
        f"({ends[0]} to {ends[1]}) than others of the same topic{as_seen_by(basis)}{of_p(row['p_holm'])}."
        f"{f' Tried: {tried}.' if tried else ''}"
    )
