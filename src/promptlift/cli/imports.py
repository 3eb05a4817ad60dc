"""``promptlift import``: conversations from other tools' exports into a service."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import typer

from promptlift import transcripts
from promptlift.cli.target import find_prompt
from promptlift.errors import TranscriptError, ValidationError
from promptlift.transcripts import Problem, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from promptlift.cli.target import Target
    from promptlift.workspace import Workspace

# The prompt of an import has to name a model; this one is in every catalogue.
_ANY_MODEL = "gpt-4o-mini"


def run_import(
    files: Sequence[Path],
    *,
    prompt: str,
    model: str | None,
    file_format: str | None,
    dry_run: bool,
    target: Target,
) -> None:
    """Read files, log what is in them, and tell everything that was not.

    Parameters
    ----------
    files
        Files to read.
    prompt
        Name or id of the prompt; one of that name is made when there is none.
    model
        Model of a prompt that is made; ``None`` is the one that most conversations name.
    file_format
        Format of all files; ``None`` recognises it for each.
    dry_run
        Whether to read and tell only.
    target
        Service to log to.
    """
    if file_format is not None and file_format not in transcripts.FORMATS:
        known = ", ".join(transcripts.FORMATS)
        raise typer.BadParameter(f"there is no format {file_format!r}; known: {known}", param_hint="--format")
    readings = {file: _read(file, file_format) for file in files}
    if dry_run:
        for file, reading in readings.items():
            _say(_found(file, reading))
            _tell(reading)
        _say("Nothing was logged: this was a dry run.")
        complete = not any(reading.problems for reading in readings.values())
    elif not any(reading.conversations for reading in readings.values()):
        for file, reading in readings.items():
            _say(_found(file, reading))
            _tell(reading)
        complete = False
    else:
        complete = _log_all(readings, prompt=prompt, model=model, target=target)
    if not complete:
        raise typer.Exit(1)


def _read(file: Path, file_format: str | None) -> Reading:
    try:
        return transcripts.read(file, format=file_format)
    except TranscriptError as error:
        return Reading(problems=[Problem(str(file), None, str(error))])


def _log_all(readings: dict[Path, Reading], *, prompt: str, model: str | None, target: Target) -> bool:
    complete = True
    with target.open() as lift:
        prompt_id = find_prompt(lift.prompts(), prompt)
        if prompt_id is None:
            prompt_id = _make_prompt(lift, prompt, model, readings)
        for file, reading in readings.items():
            _say(_found(file, reading))
            if reading.conversations:
                result = lift.log(reading, prompt_id=prompt_id)
                _say(f"  logged {result.logged}, already there {result.already_there}")
                for failure in result.failed:
                    _say(f"  not logged: {failure}")
                complete = complete and not result.failed
            _tell(reading)
            complete = complete and not reading.problems
    return complete


def _make_prompt(lift: Workspace, name: str, model: str | None, readings: dict[Path, Reading]) -> str:
    conversations = [item for reading in readings.values() for item in reading.conversations]
    named = Counter(item.llm_model for item in conversations if item.llm_model)
    wanted = model or (named.most_common(1)[0][0] if named else _ANY_MODEL)
    content = f"The text of this prompt is not known. It was made by an import of {len(conversations)} conversations."
    try:
        made = lift.client.prompts.create(name=name, content=content, llm_model=wanted)
    except ValidationError as error:
        if model is not None or wanted == _ANY_MODEL or "llmModel" not in error.details:
            raise
        _say(
            f"The service does not know the model {wanted}: the prompt is made for {_ANY_MODEL}; see --model."
        )
        made = lift.client.prompts.create(name=name, content=content, llm_model=_ANY_MODEL)
    _say(f"New prompt {name!r} ({made.id})")
    return str(made.id)


def _found(file: Path, reading: Reading) -> str:
    count = len(reading.conversations)
    return f"{file}: {reading.format or 'not recognised'}, {count} conversation{'s' * (count != 1)}"


def _tell(reading: Reading) -> None:
    for field, count in sorted(reading.dropped.items()):
        _say(f"  dropped {field} ({count} record{'s' * (count != 1)})")
    for note in reading.notes:
        _say(f"  {note}")
    for problem in reading.problems:
        _say(f"  {problem}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
