"""Reports to share: a single file that opens anywhere and makes no requests.

>>> from promptlift import report
>>> report.write(lift, "prompt-id", "report.html")  # doctest: +SKIP
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptlift.atomic_write import atomic_write
from promptlift.errors import ConfigError, PromptliftError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from promptlift.report.document import Logo
    from promptlift.report.logo import LogoLike
    from promptlift.report.period import PeriodLike
    from promptlift.report.renderers import Renderer

__all__ = ["write"]


def write(
    source: Any,
    prompt_id: str | Sequence[str] | None,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    logo: LogoLike = None,
    redact: bool = False,
    examples: int = 6,
    period: PeriodLike = None,
    labels: Any = None,
    clock: Callable[[], datetime] | None = None,
) -> Path:
    """Write a report about a prompt, or about several prompts side by side.

    It opens with the answer: how the prompts differ, and how a period differs from the equally long one before it.
    The numbers are those of ``promptlift.analysis``, the figures those of ``promptlift.plots``. The same data and the
    same clock produce the same bytes. A failure never leaves a partial file.

    Parameters
    ----------
    source
        A workspace, or a table of ``lift.conversations(insights=True)``; examples also need ``content=True``.
    prompt_id
        A prompt's name or id, or several to compare. For a table: ids, or ``None`` for all its conversations.
    path
        The file; its suffix selects the format. ``.html`` opens anywhere, also offline; ``.pdf`` (extra ``pdf``) is
        the same on paper; ``.xlsx`` has a sheet per table; ``.md`` is GitHub Markdown.
    title
        Title of the report; by default the name of the prompt.
    logo
        PNG or JPEG image next to the title, as a file or as bytes; in HTML, PDF and Excel.
    redact
        Omit everything that was said: transcripts, quotes and summaries. Titles of issues stay unless they repeat what
        was said; e-mail addresses, links and long numbers are removed from them.
    examples
        Number of example conversations, 0 to 50.
    period
        A number of days up to now, or ``(first day, last day)``, in UTC and both included; either may be ``None``. One
        with a first day is compared with the period before it.
    labels
        Labels of people, some of whose conversations were drawn at random (``analysis.label_plan``), as for
        ``analysis.completion``. Corrected completion rates and differences are then shown beside those of the judge, and
        corrected lifts where simulated conversations are labelled (``VariantReview.label_draw``).
    clock
        Returns the time of the report; by default the current time.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ConfigError
        Before anything is read: the suffix is not supported, the file cannot be written there, the logo is no such
        image, or the system lacks a library that PDF needs.
    MissingExtra
        When the format needs an extra that is not installed.
    NotFound
        When there is no such prompt; the message suggests similar names.
    FrameError
        When a table lacks a column.
    PromptliftError
        When the file cannot be written.
    TypeError
        When the source is neither a workspace nor a pandas table.
    ValueError
        When an option is invalid, or a table has no conversation of the prompt.
    """
    target = Path(path)
    render, image = _check(target, logo)
    from promptlift.report.compose import compose  # noqa: PLC0415
    from promptlift.report.gather import gather  # noqa: PLC0415
    from promptlift.report.period import window_of  # noqa: PLC0415
    from promptlift.report.sections.examples import check_number  # noqa: PLC0415

    check_number(examples)
    now = datetime.now(UTC) if clock is None else clock()
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    window = window_of(period, now)
    material = gather(source, prompt_id, window, labels)
    document = compose(
        material, window=window, now=now, title=title, logo=image, redacted=redact, examples=examples
    )
    try:
        atomic_write(target, render(document))
    except OSError as error:
        raise PromptliftError(
            f"The report could not be written to {target}: {error.strerror or error}. "
            "Nothing was changed. Free some space or choose another path, and write it again."
        ) from error
    return target


def _check(target: Path, logo: LogoLike) -> tuple[Renderer, Logo | None]:
    """Check what is cheap to check before pandas and matplotlib are loaded; return the renderer and the logo."""
    from promptlift.report.logo import read_logo  # noqa: PLC0415
    from promptlift.report.renderers import renderer_for  # noqa: PLC0415

    render = renderer_for(target)
    if target.is_dir():
        raise ConfigError(f"{target} is a folder. Name a file in it, such as {target / 'report.html'}.")
    if not target.parent.is_dir():
        raise ConfigError(f"There is no folder {target.parent}. Create it first, or choose another one.")
    return render, read_logo(logo)
