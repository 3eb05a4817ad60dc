"""Requests that are sent once: without an answer it is unknown whether they worked."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from promptlift.errors import ConnectionFailed, ServerError, UnexpectedResponse

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def may_have_worked(act: str, hint: str) -> Iterator[None]:
    """Add to the error of a request without an answer that it may have worked; it is never sent again.

    Parameters
    ----------
    act
        What was interrupted, such as ``the benchmark was started``.
    hint
        A sentence that says so, and where to look.
    """
    try:
        yield
    except (ConnectionFailed, ServerError, UnexpectedResponse) as error:
        error.message = f"{error.message}. {hint}"
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted while {act}. {hint}") from None
