"""``promptlift report``: one self-contained file about a prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from promptlift.cli.target import Target, need_prompt

if TYPE_CHECKING:
    from pathlib import Path


def write_report(prompt: str, *, out: Path, target: Target) -> None:
    """Write the report of a prompt and say where it is.

    Parameters
    ----------
    prompt
        Name or id.
    out
        File to write.
    target
        Service to read from.
    """
    from promptlift import report  # noqa: PLC0415  drawing takes its time to load

    with target.open() as lift:
        prompt_id = need_prompt(lift.prompts(), prompt)
        out.parent.mkdir(parents=True, exist_ok=True)
        report.write(lift, prompt_id, out)
    sys.stdout.write(f"Report: {out}\n")
