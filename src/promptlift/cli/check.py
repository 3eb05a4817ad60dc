"""``promptlift check``: the verdict on a prompt as an exit code and one line, for CI and cron."""

from __future__ import annotations

import re
import sys
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from promptlift.cli.options import BaseUrl, Data, Period, open_service
from promptlift.cli.reporting import period_of
from promptlift.errors import ConfigError
from promptlift.schema.basis import UNTOLD, WAYS, may_tell

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.workspace import Comparison, Workspace

# unspecified: 1 and 2 are taken by failures of the command itself and wrong usage; see ``cli.main``.
FAILS: Final = 3
TOO_FEW: Final = 4
CANNOT_TELL: Final = 5

_VERSION: Final = re.compile(r"v?\d+")


def check(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="Name or id of the prompt.")],
    *,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="RATE",
            min=0.001,
            max=0.999,
            help="Fail if the completion rate is surely below this, such as 0.8, at any number of checks.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="VERSION",
            help="Fail if the prompt is clearly worse than this version of it, such as 1, or than another prompt.",
        ),
    ] = None,
    fewest: Annotated[
        int,
        typer.Option("--min-conversations", metavar="N", min=1, help="Fewest conversations for a verdict."),
    ] = 20,
    period: Period = None,
    base_url: BaseUrl = None,
    data: Data = None,
) -> None:
    """Check the performance of a prompt, for CI and cron: one line and an exit code.

    The exit code is 0 if it passes, 3 if it fails, 4 if there are too few conversations, 5 if only a word
    list judged, which is no evidence, 1 and 2 if the command itself fails. A prompt exactly at --fail-below
    fails with a chance of at most 5% in 90 nights, if every check reads the same first day.
    """
    if fail_below is None and against is None:
        raise typer.BadParameter("Give --fail-below, --against or both.")
    from promptlift.analysis.reading import basis_of  # noqa: PLC0415  tables take their time to load
    from promptlift.report.period import window_of  # noqa: PLC0415
    from promptlift.workspace import NothingMatchesWarning  # noqa: PLC0415
    from promptlift.workspace.prompt_names import id_of  # noqa: PLC0415

    window = window_of(period_of(period), datetime.now(UTC))
    findings = []
    with open_service(base_url, data) as lift, warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingMatchesWarning)  # the line shows it
        found = id_of(lift, prompt)
        if against is not None:
            newer = _live(lift, found) if _VERSION.fullmatch(against) else prompt
            comparison = _compared(lift, found, newer, against, since=window.start, until=window.end)
            findings.append(_not_worse(comparison, fewest))
            table = comparison.conversations
            table = table[(table["compared"] == newer).to_numpy(dtype=bool)]
        else:
            table = lift.conversations(found, insights=True, since=window.start, until=window.end)
    if fail_below is not None:
        findings.insert(0, _high_enough(table, fail_below, fewest))
    if not may_tell(basis_of(table)):
        findings = [Finding(CANNOT_TELL, f"whether tasks were completed {UNTOLD}. {WAYS[0]}")]
    code = FAILS if any(one.code == FAILS for one in findings) else max(one.code for one in findings)
    word = {0: "PASSED", FAILS: "FAILED", TOO_FEW: "TOO FEW", CANNOT_TELL: "CANNOT TELL"}[code]
    sys.stdout.write(f"{word} {' '.join(prompt.split())}: {' '.join(one.said for one in findings)}\n")
    raise typer.Exit(code)


class Finding(NamedTuple):
    """The result of one condition of the check.

    Attributes
    ----------
    code
        0 if it holds or nothing clearly contradicts it, otherwise ``FAILS``, ``TOO_FEW`` or ``CANNOT_TELL``.
    said
        The reason, in a sentence.
    """

    code: int
    said: str


def _compared(lift: Workspace, found: str, newer: str, against: str, *, since: Any, until: Any) -> Comparison:
    """Compare the prompt with another one, or its live version with an earlier one."""
    is_version = _VERSION.fullmatch(against)
    if is_version and newer == f"v{int(against.removeprefix('v'))}":
        raise ConfigError(
            f"--against {against} is the version that is live: there is nothing to compare it with."
        )
    try:
        return lift.compare(against, newer, prompt=found if is_version else None, since=since, until=until)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _live(lift: Workspace, found: str) -> str:
    versions = lift.versions(found)
    live = versions[versions["is_live"].to_numpy(dtype=bool, na_value=False)]
    return f"v{int((live if len(live) else versions)['number'].iloc[0])}"


def _high_enough(table: pd.DataFrame, fail_below: float, fewest: int) -> Finding:
    from promptlift import analysis  # noqa: PLC0415  tables take their time to load
    from promptlift.analysis.sentences import completion_sentence, ends_of  # noqa: PLC0415
    from promptlift.stats.watch import watch  # noqa: PLC0415

    row = analysis.completion(table).iloc[0]
    n = int(row["n"])
    said = completion_sentence(ends_of(row, "rate"), n).rstrip(".")
    least = f"{100 * fail_below:g}%"
    if n < fewest:
        return Finding(TOO_FEW, f"{said}; a verdict needs {fewest:,}.")
    days = analysis.completion_trend(table, freq="D")
    days = days[days["n"] > 0]
    found = watch(zip(days["n"], days["completed"], strict=True), fail_below)
    if not found.is_below:
        sure = "not" if row["rate"] >= fail_below else "not surely"
        return Finding(0, f"{said}; {sure} below {least}.")
    since = f"{days['period_start'].iloc[found.since]:%Y-%m-%d}"
    return Finding(FAILS, f"{said}; surely below {least}: {found.completed:,} of {found.n:,} since {since}.")


def _not_worse(comparison: Comparison, fewest: int) -> Finding:
    said = comparison.sentence
    table = comparison.table
    if not may_tell(table.attrs["promptlift"]["basis"]):
        return Finding(CANNOT_TELL, said)
    n = 0 if table.empty else int(min(table["n"].iloc[0], table["n_control"].iloc[0]))
    if n < fewest:
        return Finding(TOO_FEW, f"{said.rstrip('.')}; a verdict needs {fewest:,} conversations of each.")
    return Finding(FAILS if table["verdict"].iloc[0] == "worse" else 0, said)
