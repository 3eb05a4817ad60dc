"""The command ``promptlift``. Each command's module is loaded only when it runs, so that help is fast."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

from promptlift.cli.termination import exit_if_terminated, exit_on_sigterm

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["main"]


def main() -> None:
    """Run the command line; every failure is one clear line on standard error.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped with Ctrl-C, 143 by SIGTERM. ``check`` also has 3 (the
    prompt fails the check) and 4 (too few conversations).
    """
    from promptlift.cli.commands import app  # noqa: PLC0415  after the interpreter is known to be ours
    from promptlift.errors import PromptliftError  # noqa: PLC0415

    exit_on_sigterm()
    # Files that a command writes contain conversations: only their owner may read them.
    os.umask(0o077)
    warnings.showwarning = _show_warning
    try:
        app(prog_name="promptlift")
    except SystemExit:
        exit_if_terminated()
        raise
    except KeyboardInterrupt:
        sys.exit(130)
    except PromptliftError as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader of our output went away; nothing more can be written to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Write our own warnings as one line for the user, and others like Python."""
    stream = file or sys.stderr
    if category.__module__.startswith("promptlift."):
        stream.write(f"promptlift: {message}\n")
    else:
        stream.write(warnings.formatwarning(message, category, filename, lineno, line))


def _fail(message: str) -> None:
    sys.stderr.write(f"promptlift: {message}\n")
    sys.exit(1)
