"""Compare two prompts, versions, models, segments or periods, in one call."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from promptlift.errors import ConfigError
from promptlift.workspace.comparison import Comparison
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.optimization_tables import OptimizationTables

_WEEK: Final = timedelta(days=7)


class Comparing(ConversationTables, OptimizationTables):
    """Comparisons of conversations."""

    def compare(
        self,
        first: Any,
        second: Any,
        *,
        prompt: str | None = None,
        by: str | None = None,
        outcome: str = "task_completed",
        since: Any = None,
        until: Any = None,
        level: float = 0.95,
        tz: str = "UTC",
    ) -> Comparison:
        """Compare the second with the first: two prompts, versions, models, segments or periods.

        Parameters
        ----------
        first, second
            What to compare. Two names or ids of prompts; with ``prompt``, two numbers of its versions, such as 1 and 2
            or ``"v1"`` and ``"v2"``; with ``by``, two values of that column; or two periods, each a pair of times
            (without a zone UTC; the end does not belong to it, None leaves it open).
        prompt
            A prompt's name or id: whose versions, models, segments or periods to compare.
        by
            Column of the conversations, such as ``"llm_model"``.
        outcome
            Column to compare, as for ``analysis.compare``.
        since, until
            Only conversations that began in this time; the end does not belong to it.
        level
            Coverage of the interval; ``1 - level`` bounds the chance of a false verdict.
        tz
            Zone whose clock says the hour in segments.

        Returns
        -------
        Comparison
            ``.sentence``, ``.table``, ``.others`` (what else differs), ``.notes``, ``.plot()``. In a notebook it shows them.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        ValueError
            When nothing says what is compared, or a value is not there.

        Examples
        --------
        >>> print(lift.compare("Support v1", "Support v2").sentence)  # doctest: +SKIP
        Support v2 completes 19 points more than Support v1 (9 to 28); clearly higher. 19 more of 100 users get their task done.
        """
        from promptlift.analysis import two_groups  # noqa: PLC0415  pandas takes its time to load

        names: tuple[Any, Any] = (first, second)
        if prompt is None and by is None and not two_groups.is_period(first):
            for name in names:
                _check_prompt(name)
            table = two_groups.of_prompts([self.conversations(name, insights=True) for name in names], names)
        else:
            table = self.conversations(prompt, insights=True)
            if two_groups.is_period(first) and two_groups.is_period(second):
                names, table = two_groups.of_periods(table, first, second)
            elif by is not None:
                table = two_groups.of_column(table, by, first, second)
            elif prompt is not None:
                names, table = two_groups.of_versions(table, self.versions(prompt), first, second)
            else:
                raise ValueError(f"A period is compared with another one, not with {second!r}.")
        table = two_groups.within(table, since, until)
        return Comparison(*two_groups.answer(table, names, outcome=outcome, level=level, tz=tz, by=by))

    def this_week(
        self, prompt: str | None = None, *, until: Any = None, level: float = 0.95, tz: str = "UTC"
    ) -> Comparison:
        """Compare the last seven days with the seven days before.

        Both have every day of the week once, so that a weekend is not compared with working days.

        Parameters
        ----------
        prompt
            A prompt's name or id; all prompts together when it is left out.
        until
            End of the week, a time (without a zone UTC); now by default.
        level
            Coverage of the interval.
        tz
            Zone whose clock says the hour in segments.

        Returns
        -------
        Comparison
            Of the conversations that began in this week with those of the week before.

        Raises
        ------
        NotFound
            When there is no such prompt; the message has near names.
        """
        import pandas as pd  # noqa: PLC0415  takes its time to load

        from promptlift.analysis import two_groups  # noqa: PLC0415

        end = pd.Timestamp(datetime.now(UTC) if until is None else until)
        end = end.tz_localize("UTC") if end.tzinfo is None else end
        everything = self.conversations(prompt, insights=True)
        before, week = (end - 2 * _WEEK, end - _WEEK), (end - _WEEK, end)
        names, table = two_groups.of_periods(everything, before, week, ("the week before", "this week"))
        said = f"This week: {week[0]:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} {end.tzname()}."
        last = two_groups.last_began(everything)
        if last is not None and last < week[0]:
            said = f"{said} The last conversation began at {last:%Y-%m-%d %H:%M} UTC; until= takes an earlier end."
        parts = two_groups.answer(table, names, outcome="task_completed", level=level, tz=tz, notes=(said,))
        return Comparison(*parts._replace(sentence=parts.sentence[0].upper() + parts.sentence[1:]))


def _check_prompt(name: Any) -> None:
    if not isinstance(name, str):
        raise ConfigError(
            f"compare takes two names of prompts, not {name!r}. Versions need prompt=, values of a column need by=, and "
            "a period is a pair of times."
        )
