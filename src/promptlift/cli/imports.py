"""``promptlift import``: import conversations from other tools' exports into a service."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Self

import typer

from promptlift import transcripts
from promptlift.cli.prompt_text import PromptText, placeholder_text, read_text
from promptlift.errors import TranscriptError, ValidationError
from promptlift.transcripts import Problem, Reading, SystemPrompts
from promptlift.workspace import NotUpdatedWarning
from promptlift.workspace.prompt_names import PromptNames

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from promptlift.cli.target import Target
    from promptlift.workspace import LogResult, Workspace

# A prompt has to name a model; this one is in every catalogue.
_ANY_MODEL = "gpt-4o-mini"


def run_import(
    files: Sequence[Path],
    *,
    prompt: str,
    model: str | None,
    text: Path | None,
    file_format: str | None,
    dry_run: bool,
    target: Target,
) -> None:
    """Read files, log their conversations, and report everything that was not logged.

    Their system prompt becomes the text of the prompt, unless that is known already.

    Parameters
    ----------
    files
        Files to read.
    prompt
        Name or id of the prompt; it is created when there is none of that name.
    model
        Model of a new prompt; ``None`` is the one that most conversations name.
    text
        File with the text of the prompt, instead of the system prompt of the files.
    file_format
        Format of all files; ``None`` recognises it for each.
    dry_run
        Whether to read and report only.
    target
        Service to log to.
    """
    if file_format is not None and file_format not in transcripts.FORMATS:
        known = ", ".join(transcripts.FORMATS)
        raise typer.BadParameter(
            f"there is no format {file_format!r}; the formats are {known}", param_hint="--format"
        )
    given = None if text is None else read_text(text)
    with Destination(target, prompt=prompt, model=model, text=given) as destination:
        complete, found = _log_files(files, destination, file_format, dry_run=dry_run)
        if dry_run:
            _print_lines(destination.texts.describe())
        elif found or not files:
            _print_lines(destination.set_prompt_text())
    if dry_run:
        _print("Nothing was logged: this was a dry run.")
    elif files and not found:
        _print("The files hold no conversations that could be logged.")
    if not complete or (files and not found):
        raise typer.Exit(1)


def _log_files(
    files: Sequence[Path], destination: Destination, file_format: str | None, *, dry_run: bool
) -> tuple[bool, bool]:
    """Log one file after another, as exports may be large. Return whether all was logged, and whether there was anything."""
    complete, found = True, False
    for file in files:
        reading = _read(file, file_format)
        if reading.format:
            _print(_summary(file, reading))
        destination.texts.add(reading)
        if reading.conversations and not dry_run:
            result = destination.log(reading)
            _print_result(result)
            # A conversation that this service cannot update is not a failure of the import.
            complete = complete and not (result.failed or result.not_sent or result.stopped)
        _print_reading(reading)
        found = found or bool(reading.conversations)
        complete = complete and not reading.problems
    return complete, found


class Destination:
    """The prompt that an import goes to. The service is opened, and the prompt created, when there is something to log.

    Parameters
    ----------
    target
        Service to log to.
    prompt
        Name or id of the prompt; it is created when there is none of that name.
    model
        Model of a new prompt; ``None`` is the one that most conversations of the first file name.
    text
        Text of the prompt, if the user gave one.
    """

    def __init__(self, target: Target, *, prompt: str, model: str | None, text: str | None = None) -> None:
        self._target = target
        self._prompt = prompt
        self._model = model
        self._lift: Workspace | None = None
        self._prompt_id: str | None = None
        self.texts = PromptText(SystemPrompts(), given=text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lift is not None:
            self._lift.close()

    def log(self, reading: Reading) -> LogResult:
        """Log the conversations of a file.

        Parameters
        ----------
        reading
            What was read.
        """
        lift, prompt_id = self._open(reading)
        with warnings.catch_warnings():  # they are printed line by line
            warnings.simplefilter("ignore", NotUpdatedWarning)
            return lift.log(reading, prompt_id=prompt_id)

    def set_prompt_text(self) -> list[str]:
        """Set the text of the prompt, when all files are read, and return the lines to print about it."""
        lift, prompt_id = self._open(Reading())
        return self.texts.set_on(lift, prompt_id)

    def _open(self, reading: Reading) -> tuple[Workspace, str]:
        if self._lift is None:
            self._lift = self._target.open()
        if self._prompt_id is None:
            names = PromptNames(self._lift.client.transport)
            self._prompt_id = names.find(self._prompt)
            if self._prompt_id is None:
                if names.is_our_id(self._prompt):
                    raise names.unknown(self._prompt)
                near = names.near(self._prompt)
                self._prompt_id = _make_prompt(self._lift, self._prompt, self._model, reading)
                if near:
                    _print(f"  There was no prompt of that name. If you meant another: {', '.join(near)}")
        return self._lift, self._prompt_id


def _read(file: Path, file_format: str | None) -> Reading:
    try:
        return transcripts.read(file, format=file_format)
    except TranscriptError as error:
        return Reading(problems=[Problem(str(file), None, str(error))])


def _make_prompt(lift: Workspace, name: str, model: str | None, reading: Reading) -> str:
    named = Counter(item.llm_model for item in reading.conversations if item.llm_model)
    wanted = model or (named.most_common(1)[0][0] if named else _ANY_MODEL)
    # The specification requires a text. This one is a placeholder until all files are read, or for good, and marked as such.
    content = placeholder_text(name)
    try:
        made = lift.client.prompts.create(name=name, content=content, llm_model=wanted, content_known=False)
    except ValidationError as error:
        if model is not None or wanted == _ANY_MODEL or "llmModel" not in error.details:
            raise
        _print(
            f"The service does not know the model {wanted}, so the prompt was created with {_ANY_MODEL}. To choose another: --model"
        )
        made = lift.client.prompts.create(
            name=name, content=content, llm_model=_ANY_MODEL, content_known=False
        )
    _print(f"New prompt {name!r} ({made.id})")
    return made.id


def _summary(file: Path, reading: Reading) -> str:
    count = len(reading.conversations)
    return f"{file}: {reading.format}, {count} conversation{'s' * (count != 1)}"


def _print_result(result: LogResult) -> None:
    updated = f"updated {result.updated}, " if result.updated else ""
    _print(f"  logged {result.logged}, {updated}already there {result.already_there}")
    for failure in result.failed:
        _print(f"  not logged: {failure}")
    for changed in result.not_updated:
        _print(f"  not updated: {changed}")
    if result.not_sent or result.stopped:
        _print(f"  not sent: {result.not_sent}; stopped early: {result.stopped}")


def _print_reading(reading: Reading) -> None:
    for field, count in sorted(reading.dropped.items()):
        _print(f"  dropped {field} ({count} record{'s' * (count != 1)})")
    for note in reading.notes:
        _print(f"  {note}")
    indent = "  " if reading.format else ""
    for problem in reading.problems:
        _print(f"{indent}{problem}")


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        _print(line)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
