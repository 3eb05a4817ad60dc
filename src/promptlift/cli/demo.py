"""``promptlift demo``: the sample conversations from logging to the report."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from promptlift.atomic_write import atomic_write
from promptlift.cli.tables import summary
from promptlift.cli.termination import exit_if_terminated

if TYPE_CHECKING:
    from collections.abc import Iterator


_DOTS = 120


def demo(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the report and the picture.")
    ] = Path("promptlift-report"),
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Data folder to keep. [default: a temporary one]"),
    ] = None,
) -> None:
    """Try promptlift on sample conversations: log them, wait for insights, write a report and a picture."""
    from promptlift import analysis, plots, report  # noqa: PLC0415  help draws nothing
    from promptlift.local import local, log_samples, wait_for_insights  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    page, picture = out / "report.html", out / "overview.png"
    progress = sys.stderr.isatty()
    with _folder(data) as folder, local(folder, progress=progress) as lift:
        _print("The service is ready. Logging the sample conversations …")
        prompts = log_samples(lift)
        exit_if_terminated()
        count = wait_for_insights(lift, prompts.values(), progress=progress)
        _print(f"{count} conversations are logged and have insights.\n")
        ids = list(prompts.values())
        conversations = lift.conversations(insights=True)
        ours = conversations[conversations["prompt_id"].isin(ids)]
        _print(summary(analysis.prompt_overview(ours, by="prompt_id"), prompts))
        drawn = io.BytesIO()
        plots.prompt_overview(lift, ids[-1]).savefig(drawn, format="png", dpi=_DOTS)
        atomic_write(picture, drawn.getvalue())
        report.write(lift, ids, page)
    _print(f"\nReport:  {page.resolve()}\nPicture: {picture.resolve()}")
    _print("To use your own conversations: promptlift import FILE --prompt NAME, or promptlift lab.")


@contextlib.contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="promptlift-demo-") as made:
        yield Path(made)


def _print(line: str) -> None:
    exit_if_terminated()
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
