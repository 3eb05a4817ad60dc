"""A conversation browser without scripts: counts, the first conversations, one transcript, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from promptlift.widgets.static_html import (
    Message,
    Tone,
    badge,
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

    from promptlift.widgets.browser.catalogue import Catalogue, Row
    from promptlift.widgets.browser.labels import Label, Labels

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
_NOTES: Final = {
    "lexicon": "Insights are from the built-in word-list analyser, not from a language model: a rough guide.",
    "mixed": "Some insights are from the built-in word-list analyser: a rough guide.",
}


def footnote(analyser: str | None, catalogue: Catalogue) -> str:
    """Return the caveats under the verdicts: a word-list analyser, and conversations that could not be judged."""
    if catalogue.blind:
        return ""
    count, reason = catalogue.unjudged()
    unjudged = f"{count:,} could not be judged and have no insights: {reason}" if count else ""
    return " ".join(filter(None, (_NOTES.get(str(analyser), ""), unjudged)))


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
    if len(labels):
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
    names = {"yes": "completed", "no": "not completed", "unknown": "not judged"}
    kinds = (
        [(names[name], count) for name, count in choices["completion"]],
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
        row = catalogue.row(place)
        judged = [] if catalogue.blind else [_judged(row), row.issue_count or ""]
        rows.append(
            [row.title, row.when.replace(" ", "\u00a0"), *judged, _label(labels.get(catalogue.ids[place]))]
        )
    caption = f"The first {len(places)} of {found:,}" if found > len(places) else None
    return table(headers, rows, numbers=() if catalogue.blind else (3,), caption=caption)


def _judged(row: Row) -> Markup:
    words, tone = _COMPLETED[row.completed]
    badges = [badge(words, tone)]
    if row.sentiment is not None:
        badges.append(badge(row.sentiment, _SENTIMENT_TONES[row.sentiment]))
    return element("span", *_spaced(badges))


def _spaced(badges: list[Markup]) -> list[Markup]:
    return [Markup(" ").join(badges)]


def _label(label: Label) -> Markup | str:
    badges = []
    if label.task_completed is not None:
        badges.append(badge("completed", "good") if label.task_completed else badge("not completed", "bad"))
    if label.sentiment is not None:
        badges.append(badge(label.sentiment, _SENTIMENT_TONES[label.sentiment]))
    return element("span", *_spaced(badges)) if badges else ""


def _open(catalogue: Catalogue, labels: Labels, place: int) -> Markup:
    turns, problem = catalogue.turns(place)
    messages = [
        Message(
            turn.role,
            turn.content,
            " · ".join(
                part
                for part in (
                    turn.when,
                    f"{turn.tokens:,} tokens" if turn.tokens is not None else "",
                    turn.model,
                )
                if part
            ),
        )
        for turn in turns[:_TURNS]
    ]
    rest = len(turns) - len(messages)
    parts = [facts(catalogue.facts(place)), transcript(messages)]
    if not labels.get(catalogue.ids[place]).empty:
        parts.insert(1, paragraph("Labelled: ", _label(labels.get(catalogue.ids[place]))))
    if rest > 0:
        parts.append(paragraph(f"… {rest:,} more messages", soft=True))
    if problem:
        parts.append(paragraph(problem))
    return details(element("b", catalogue.row(place).title), *parts, opened=True)


def _labels(labels: Labels) -> Markup:
    last = [(name, labels.get(name)) for name in labels.table()["conversation_id"].tail(_MAX_LABELS)]
    rows = [
        [name[:80], _label(label), label.labelled_at and label.labelled_at.strftime("%Y-%m-%d %H:%M")]
        for name, label in last
    ]
    words = f"{len(labels):,} {'label' if len(labels) == 1 else 'labels'}"
    if len(labels) > _MAX_LABELS:
        words = f"The last {_MAX_LABELS} of {words}"
    return details(words, table(["Conversation", "Labelled", "When (UTC)"], rows))
