"""The command ``promptlift``. A command's own module is loaded when it runs, so that help is quick."""

from __future__ import annotations

import os
import sys

from promptlift.cli.leaving import leave_if_told, listen

__all__ = ["main"]


def main() -> None:
    """Run the command line; every failure is one clear line on standard error.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped with Ctrl-C, 143 by SIGTERM.
    """
    from promptlift.cli.commands import app  # noqa: PLC0415  after the interpreter is known to be ours
    from promptlift.errors import PromptliftError  # noqa: PLC0415

    listen()
    try:
        app(prog_name="promptlift")
    except SystemExit:
        leave_if_told()
        raise
    except KeyboardInterrupt:
        sys.exit(130)
    except PromptliftError as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader of our output went away; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _fail(message: str) -> None:
    sys.stderr.write(f"promptlift: {message}\n")
    sys.exit(1)
