"""A report as PDF: the HTML page, laid out by WeasyPrint."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import warnings
from typing import TYPE_CHECKING, Any

from promptlift.errors import ConfigError, MissingExtra
from promptlift.report.renderers.html import page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.report.document import Document

__all__ = ["check", "render"]


def check() -> None:
    """Check that PDF can be written.

    Raises
    ------
    MissingExtra
        When WeasyPrint is not installed.
    ConfigError
        When the system lacks Pango, which no Python package includes.
    """
    _weasyprint()


def render(document: Document) -> bytes:
    """Render a document."""
    weasyprint = _weasyprint()
    text = page(document, paged=True)
    # The page is self-contained: nothing is fetched, whatever a text contains.
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols=("data",))
    with _silent():
        made: bytes = weasyprint.HTML(string=text, url_fetcher=fetcher, media_type="print").write_pdf(
            pdf_identifier=hashlib.sha256(text.encode()).digest()[:16], pdf_tags=True
        )
    return made


def _weasyprint() -> Any:
    try:
        # It prints advice when a library is missing; the error below says more.
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import weasyprint  # noqa: PLC0415  an extra, and heavy
    except ImportError as error:
        raise MissingExtra("A report as PDF", "pdf") from error
    except OSError as error:
        raise ConfigError(
            "A report as PDF needs the library Pango, which is not installed "
            f"({str(error).splitlines()[0][:200]}). Install it (Debian, Ubuntu: apt install libpango-1.0-0 "
            "libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango; Windows: see WeasyPrint's first steps), "
            "or write the report as .html and print it from a browser."
        ) from error
    return weasyprint


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep messages about style rules for browsers out of the log."""
    loggers = [logging.getLogger(name) for name in ("weasyprint", "fontTools")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
