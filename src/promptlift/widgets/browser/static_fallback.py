"""A conversation browser without scripts: counts, the first conversations, one transcript, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.reading import WORDS_NOTE
from promptlift.display.static_html import (
    Tone,
    badges,
    details,
    element,
    facts,
    paragraph,
    root,
    table,
    transcript,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from promptlift.widgets.browser.catalogue import Catalogue
    from promptlift.widgets.browser.labels import Labels

__all__ = ["footnote", "render"]

_ROWS: Final = 12
_TURNS: Final = 30
_MAX_LABELS: Final = 100
_SENTIMENT_TONES: Final[dict[str, Tone]] = {"positive": "good", "neutral": "plain", "negative": "bad"}
_COMPLETED: Final[dict[str, tuple[str, Tone]]] = {
    "yes": ("completed", "good"),
    "no": ("not completed", "bad"),
    "unknown": ("not judged", "plain"),
}


def footnote(analyser: str | None, catalogue: Catalogue) -> str:
    """Return the caveats under the verdicts: a word-list analyser, and conversations that could not be judged."""
    if catalogue.blind:
        return ""
    count, reason = catalogue.unjudged()
    unjudged = f"{count:,} could not be judged and have no insights: {reason}" if count else ""
    return " ".join(filter(None, (WORDS_NOTE if analyser in ("lexicon", "mixed") else "", unjudged)))


def render(
    catalogue: Catalogue, labels: Labels, places: Sequence[Any] | Any, shown: int | None, analyser: str | None
) -> Markup:
    """Return the static fallback of a browser.

    Parameters
    ----------
    catalogue, labels
        The conversations and the labels people gave them.
    places
        Places of the conversations found.
    shown
        Place of the open conversation; None when none is open.
    analyser
        The analyser that judged the conversations.
    """
    parts = [
        paragraph(element("b", f"{len(catalogue):,} conversations"), *_counts(catalogue, labels)),
        _list(catalogue, labels, [int(one) for one in places[:_ROWS]], len(places)),
    ]
    if shown is not None:
        parts.append(_open(catalogue, labels, shown))
    if len(labels) and catalogue.names_ids:
        parts.append(_labels(labels))
    note = footnote(analyser, catalogue)
    if note:
        parts.append(paragraph(note, soft=True))
    parts.append(
        paragraph("To filter, read and label all of them, run this cell in a running notebook.", soft=True)
    )
    return root(*parts)


def _counts(catalogue: Catalogue, labels: Labels) -> list[str]:
    choices = catalogue.choices()
    kinds = (
        [(_COMPLETED[name][0], count) for name, count in choices["completion"]],
        [(name, count) for name, count in choices["sentiment"] if name != "none"],
    )
    counts = [f", {len(labels):,} labelled" if len(labels) else ""]
    counts += [" · " + ", ".join(f"{count:,} {name}" for name, count in pairs) for pairs in kinds if pairs]
    return counts


def _list(catalogue: Catalogue, labels: Labels, places: list[int], found: int) -> Markup:
    if not places:
        return paragraph("No conversations match the filters.")
    headers = [
        "Conversation",
        "Started (UTC)",
        *([] if catalogue.blind else ["Judged", "Issues"]),
        "Labelled",
    ]
    rows = []
    for place in places:
        row, label = catalogue.row(place), labels.get(catalogue.ids[place])
        judged = [] if catalogue.blind else [_verdict(row.completed, row.sentiment), row.issue_count or ""]
        labelled = _verdict(label.completion, label.sentiment)
        rows.append([row.title, row.when.replace(" ", "\u00a0"), *judged, labelled])
    caption = f"The first {len(places)} of {found:,}" if found > len(places) else None
    return table(headers, rows, numbers=() if catalogue.blind else (3,), caption=caption)


def _verdict(completed: str | None, sentiment: str | None) -> Markup:
    """Show what the judge or a person says about a conversation."""
    labels = [] if completed is None else [_COMPLETED[completed]]
    return badges([*labels, *([] if sentiment is None else [(sentiment, _SENTIMENT_TONES[sentiment])])])


def _open(catalogue: Catalogue, labels: Labels, place: int) -> Markup:
    turns, problem = catalogue.turns(place)
    rest = len(turns) - _TURNS
    label = labels.get(catalogue.ids[place])
    parts = [facts(catalogue.facts(place)), transcript(turns[:_TURNS])]
    if not label.empty:
        parts.insert(1, paragraph("Labelled: ", _verdict(label.completion, label.sentiment)))
    if rest > 0:
        parts.append(paragraph(f"… {rest:,} more messages", soft=True))
    if problem:
        parts.append(paragraph(problem))
    return details(element("b", catalogue.row(place).title), *parts, opened=True)


def _labels(labels: Labels) -> Markup:
    rows = []
    for name in labels.table()["conversation_id"].tail(_MAX_LABELS):
        label = labels.get(name)
        when = label.labelled_at and label.labelled_at.strftime("%Y-%m-%d %H:%M")
        rows.append([name[:80], _verdict(label.completion, label.sentiment), when])
    words = f"{len(labels):,} {'label' if len(labels) == 1 else 'labels'}"
    if len(labels) > _MAX_LABELS:
        words = f"The last {_MAX_LABELS} of {words}"
    return details(words, table(["Conversation", "Labelled", "When (UTC)"], rows))
