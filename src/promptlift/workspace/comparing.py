"""Compare two prompts, versions, models, segments or periods, in one call."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from promptlift.errors import ConfigError
from promptlift.words.figures import signed
from promptlift.words.sentences import observed
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.prompts import Prompts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from promptlift.workspace.conversations import Time

__all__ = ["Comparison"]


_MOST_OTHERS: Final = 8


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of ``lift.compare`` and ``lift.this_week``.

    Attributes
    ----------
    sentence
        The answer; it agrees with the table in direction, number and strength.
    table
        One row, as of ``analysis.compare``; empty when one of both has no conversations.
    others
        What else differs: issues, topics, measures, and segments where the difference is another.
    notes
        What the comparison is not, and what was left out.
    conversations
        The conversations of both, with the column ``compared`` that says of which.
    """

    sentence: str
    table: pd.DataFrame
    others: pd.DataFrame
    notes: tuple[str, ...]
    conversations: pd.DataFrame

    def plot(self, *, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the difference with its interval.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        style
            As for ``plots.compare``.
        """
        from promptlift import plots  # noqa: PLC0415  drawing takes its time to load

        return plots.compare(self.table, ax=ax, **style)

    @property
    def what_else(self) -> tuple[str, ...]:
        """What else clearly differs, a sentence each."""
        from promptlift.analysis.two_groups import clear_differences  # noqa: PLC0415  pandas takes its time to load

        return clear_differences(self.others)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> list[str]:
        others = self.what_else
        more = f"and {len(others) - _MOST_OTHERS} more, see .others" if len(others) > _MOST_OTHERS else ""
        nothing = f"Nothing else clearly differs among {len(self.others):,} comparisons, corrected for their number."
        listed = [f"- {sentence}" for sentence in (*others[:_MOST_OTHERS], *([more] if more else []))]
        return [self.sentence, *(listed or ([nothing] if len(self.others) else [])), *self.notes]

    def _repr_html_(self) -> str:
        first, *lines = (html.escape(line) for line in self._lines())
        items = "".join(f"<li>{line.removeprefix('- ')}</li>" for line in lines if line.startswith("- "))
        rest = "".join(f"<p>{line}</p>" for line in lines if not line.startswith("- "))
        others = f"<p>What else differs:</p><ul>{items}</ul>" if items else ""
        return (
            f"<div><p><strong>{first}</strong></p>{self._picture()}{self._html_table()}{others}{rest}</div>"
        )

    def _picture(self) -> str:
        if self.table.empty:
            return ""
        from promptlift.plots.notebook_theme import picture  # noqa: PLC0415  drawing takes its time to load

        return picture(lambda ax: self.plot(ax=ax), self.sentence, height=2.4)

    def _html_table(self) -> str:
        if self.table.empty:
            return ""
        row = self.table.iloc[0]
        unit = "difference" if "difference" in row else "difference_points"
        column = next((name for name in ("rate", "mean") if name in row), None)
        level = 100 * self.table.attrs["promptlift"]["level"]
        form = "{:.1%}" if column == "rate" else "{:,.4g}"
        cells = {"Compared": str(row["variant"]), "with": str(row["control"])}
        shown = "difference, points" if unit == "difference_points" else "difference"
        if "difference_points_corrected" in row and not math.isnan(row["difference_points_corrected"]):
            value, low, high = (
                _signed(row[f"difference_points_corrected{end}"]) for end in ("", "_low", "_high")
            )
            cells["corrected by labels, points"] = f"{value} ({low} to {high})"
            shown = "uncorrected, points"
        cells["verdict"] = observed(str(row["verdict"]))
        cells[shown] = _signed(row[unit])
        cells[f"{level:.4g}% interval"] = f"{_signed(row[f'{unit}_low'])} to {_signed(row[f'{unit}_high'])}"
        if column:
            cells[column] = f"{form.format(row[column])} of {row['n']:,}"
            cells["the other's"] = f"{form.format(row[f'{column}_control'])} of {row['n_control']:,}"
        head = "".join(f"<th>{html.escape(name[0].upper() + name[1:])}</th>" for name in cells)
        body = "".join(f"<td>{html.escape(value)}</td>" for value in cells.values())
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>"


def _signed(value: Any) -> str:
    return "not known" if math.isnan(value) else signed(value)


_WEEK: Final = timedelta(days=7)


class Comparing(ConversationTables, Prompts):
    """Comparisons of conversations."""

    def compare(
        self,
        first: Any,
        second: Any,
        *,
        prompt: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        outcome: str = "task_completed",
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        labels: Any = None,
        rectifier: Literal["own", "pooled"] = "own",
        level: float = 0.95,
    ) -> Comparison:
        """Compare the second with the first: two prompts, versions, models, segments or periods.

        Parameters
        ----------
        first, second
            What to compare. Two names or ids of prompts; with ``prompt``, two numbers of its versions, such as 1 and 2
            or ``"v1"`` and ``"v2"``; with ``by``, two values of that column, or of several columns two combinations such
            as ``("gpt-4o", "web")``; or two periods, each a pair of times (without a zone UTC; the end does not belong
            to it, None leaves it open).
        prompt
            A prompt's name or id: whose versions, models, segments or periods to compare. For all but versions it may be
            a list.
        by
            Column of the conversations, such as ``"llm_model"`` or ``"metadata.channel"``, or a list of columns.
        outcome
            Column to compare, as for ``analysis.compare``.
        since, until, where
            Only these conversations, as for :meth:`conversations`.
        labels, rectifier
            Labels of people, some of whose conversations were drawn at random (``analysis.label_plan``), as for
            ``analysis.compare``. The sentence then is what they make of the judge's numbers, which a note repeats.
        level
            Coverage of the interval; ``1 - level`` bounds the chance of a false verdict.

        Returns
        -------
        Comparison
            ``.sentence``, ``.table``, ``.others`` (what else differs), ``.notes``, ``.plot()``. In a notebook it shows them.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        FrameError
            When ``by`` or ``where`` names a column that there is not.
        ConfigError
            When ``since``, ``until`` or ``where`` cannot be used.
        ValueError
            When nothing says what is compared, or a value is not there.

        Warns
        -----
        NothingMatchesWarning
            A value of a filter matches no conversation; the message names those that there are.

        Examples
        --------
        >>> print(lift.compare("Support v1", "Support v2").sentence)  # doctest: +SKIP
        Support v2 completes 19 points more than Support v1 (9 to 28); clearly higher. 19 more of 100 users get their task done.
        >>> lift.compare("web", "app", by="metadata.channel", since="2026-10-01")  # doctest: +SKIP
        """
        from promptlift.analysis import two_groups  # noqa: PLC0415  pandas takes its time to load

        read = partial(self.conversations, insights=True, since=since, until=until, where=where)
        columns = (by,) if isinstance(by, str) else tuple(by or ())
        names, table = self._two_groups(first, second, prompt, columns, read)
        parts = two_groups.answer(
            table,
            names,
            outcome=outcome,
            level=level,
            tz="UTC",
            by=columns,
            labels=labels,
            rectifier=rectifier,
        )
        return Comparison(*parts)

    def _two_groups(
        self,
        first: Any,
        second: Any,
        prompt: str | Sequence[str] | None,
        columns: Sequence[str],
        read: Callable[[str | Sequence[str] | None], pd.DataFrame],
    ) -> tuple[tuple[Any, Any], pd.DataFrame]:
        """Read what is compared: segments, periods, prompts or versions; return the names of the two and their table."""
        from promptlift.analysis import two_groups  # noqa: PLC0415  as above

        if columns:
            return two_groups.of_columns(
                read(prompt), columns, _values(first, columns), _values(second, columns)
            )
        if two_groups.is_period(first) or two_groups.is_period(second):
            if not (two_groups.is_period(first) and two_groups.is_period(second)):
                raise ValueError(
                    f"A period is compared with another one: {first!r} and {second!r} are not two."
                )
            return two_groups.of_periods(read(prompt), first, second)
        if prompt is None:
            names = (first, second)
            for name in names:
                _check_prompt(name)
            return names, two_groups.of_prompts([read(name) for name in names], names)
        one = _one_prompt(prompt)
        return two_groups.of_versions(read(one), self.versions(one), first, second)

    def this_week(
        self,
        prompt: str | Sequence[str] | None = None,
        *,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        labels: Any = None,
    ) -> Comparison:
        """Compare the last seven days with the seven days before.

        Both have every day of the week once, so that a weekend is not compared with working days.

        Parameters
        ----------
        prompt
            A prompt's name or id, or several; all prompts together when it is left out.
        until
            End of the week, a time (without a zone UTC); now by default.
        where
            Only conversations with these values, as for :meth:`conversations`.
        labels
            As for :meth:`compare`.

        Returns
        -------
        Comparison
            Of the conversations that began in this week with those of the week before.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        FrameError
            When ``where`` names a column that there is not.
        """
        import pandas as pd  # noqa: PLC0415  takes its time to load

        from promptlift.analysis import two_groups  # noqa: PLC0415

        end = pd.Timestamp(datetime.now(UTC) if until is None else until)
        end = end.tz_localize("UTC") if end.tzinfo is None else end
        everything = self.conversations(prompt, insights=True, where=where)
        before, week = (end - 2 * _WEEK, end - _WEEK), (end - _WEEK, end)
        names, table = two_groups.of_periods(everything, before, week, ("the week before", "this week"))
        said = f"This week: {week[0]:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} {end.tzname()}."
        last = two_groups.last_began(everything)
        if last is not None and last < week[0]:
            said = f"{said} The last conversation began at {last:%Y-%m-%d %H:%M} UTC; until= takes an earlier end."
        parts = two_groups.answer(
            table, names, outcome="task_completed", level=0.95, tz="UTC", notes=(said,), labels=labels
        )
        return Comparison(*parts._replace(sentence=parts.sentence[0].upper() + parts.sentence[1:]))


def _values(side: Any, columns: Sequence[str]) -> Sequence[Any]:
    """Return the values of one side, one for each column."""
    if len(columns) == 1 and not (isinstance(side, tuple | list) and len(side) == 1):
        return (side,)
    return side if isinstance(side, tuple | list) else (side,)


def _one_prompt(prompt: str | Sequence[str]) -> str:
    if not isinstance(prompt, str) and len(prompt) != 1:
        raise ConfigError(
            "Versions are those of one prompt; by= compares models or segments of several prompts."
        )
    return prompt if isinstance(prompt, str) else prompt[0]


def _check_prompt(name: Any) -> None:
    if not isinstance(name, str):
        raise ConfigError(
            f"compare takes two names of prompts, not {name!r}. Versions need prompt=, values of a column need by=, and "
            "a period is a pair of times."
        )
