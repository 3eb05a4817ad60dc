"""``lift.import_files``: read other tools' exports, log their conversations, and give the prompts their texts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from promptlift.errors import ConfigError, TranscriptError
from promptlift.workspace.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from promptlift.client.log.result import LogResult
    from promptlift.transcripts import Reading
    from promptlift.workspace.workspace import Workspace

__all__ = ["FileImport", "ImportResult", "Importing", "import_files"]


@dataclass
class FileImport:
    """One file of an import.

    Attributes
    ----------
    file
        As it was named.
    reading
        Format, problems, notes and dropped fields of the file, without its conversations.
    conversations
        Number of conversations in the file.
    logged
        What became of them; ``None`` in a dry run.
    """

    file: str
    reading: Reading
    conversations: int = 0
    logged: LogResult | None = None

    @property
    def complete(self) -> bool:
        """Whether everything in the file was imported. A conversation that the service cannot update is no failure."""
        logged = self.logged
        failed = logged is not None and bool(logged.failed or logged.not_sent or logged.stopped)
        return not self.reading.problems and not failed

    def parts(self, parts: Iterable[Reading]) -> Iterator[Reading]:
        """Yield the parts of the file, and count what they have.

        Parameters
        ----------
        parts
            Readings of the file, in order.
        """
        for part in parts:
            self.reading = part
            self.conversations += len(part.conversations)
            yield part
        self.reading = replace(self.reading, conversations=[])

    def lines(self) -> list[str]:
        """Return one line for the file, then what was left out, notes, and what went wrong."""
        reading, logged = self.reading, self.logged
        lines = [self._line()] if reading.format else []
        if reading.dropped:
            counts = sorted(reading.dropped.items(), key=lambda one: (-one[1], one[0]))
            lines.append(
                f"  left out (in how many records): {', '.join(f'{name} ({count:,})' for name, count in counts)}"
            )
        if reading.undated:
            lines.append(f"  Conversations without a time, dated by their import: {reading.undated:,}.")
        lines += [f"  {note}" for note in reading.notes]
        if logged is not None:
            for (why, _), run in groupby(
                enumerate(logged.failed), lambda at: (at[1].message, at[1].index - at[0])
            ):
                sources = [failure.source for _, failure in run]
                where = " to ".join(dict.fromkeys((sources[0], sources[-1])))
                lines.append(f"  not logged: {where}: {why}")
            if logged.not_sent or logged.stopped:
                lines.append(f"  not sent: {logged.not_sent}; stopped early: {logged.stopped}")
        return lines + [f"{'  ' if reading.format else ''}{problem}" for problem in reading.problems]

    def _line(self) -> str:
        reading = self.reading
        found = f"{reading.format}, {_count(self.conversations, 'conversation')}"
        if reading.model_calls:
            found += f", {_count(reading.model_calls, 'model call')}"
        if self.logged is not None and self.conversations:
            updated = f"updated {self.logged.updated}, " if self.logged.updated else ""
            found += f"; logged {self.logged.logged}, {updated}already there {self.logged.already_there}"
        return f"{self.file}: {found}"


@dataclass
class ImportResult:
    """What became of an import.

    Attributes
    ----------
    files
        Each file with its problems and counts.
    prompts
        Ids of the prompts that the conversations were logged to, by name.
    lines
        The same in sentences, as `promptlift import` prints them.
    """

    files: list[FileImport] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def conversations(self) -> int:
        """Number of conversations in all files."""
        return sum(one.conversations for one in self.files)

    @property
    def complete(self) -> bool:
        """Whether there was something to import, and all of it was imported."""
        return all(one.complete for one in self.files) and bool(self.conversations or not self.files)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__


class Importing(Session):
    """Importing of files."""

    def import_files(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        prompt: str,
        model: str | None = None,
        text: str | None = None,
        format: str | None = None,  # noqa: A002 - as in transcripts.read
        columns: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> ImportResult:
        """Import conversations from other tools' exports. Importing the same file again adds nothing.

        All conversations go to the prompt that is named, unless the files name several prompts themselves. Then each goes to
        a prompt of its own, "NAME / its name"; conversations without a name go to NAME. A new prompt gets the system
        prompt of the conversations as its text: one text, versions of one text, or a template with ``{{value}}`` where only
        values differ. A text that is known already is never replaced.

        Parameters
        ----------
        files
            Files to read, in any format of ``transcripts.FORMATS``. Without files only the text is set.
        prompt
            Name or id of the prompt; it is created when there is none of that name.
        model
            Model of a new prompt; ``None`` is the one that most conversations name, of a large first file most of its first
            thousand.
        text
            Text of the prompt, instead of the system prompt of the files.
        format, columns, roles
            As for ``transcripts.read``.
        dry_run
            Whether to read and report only.

        Returns
        -------
        ImportResult
            Each file with its problems and counts, the ids of the prompts, and the same in sentences.

        Raises
        ------
        ConfigError
            When ``text`` is given and the files name several prompts, or several prompts have the name.
        NotFound
            When ``prompt`` is an id, and there is no such prompt.

        Examples
        --------
        >>> lift.import_files("support.jsonl", prompt="Support assistant")  # doctest: +SKIP
        """
        named = [files] if isinstance(files, str | os.PathLike) else files
        wanted: dict[str, Any] = {"prompt": prompt, "model": model, "text": text, "dry_run": dry_run}
        reading: dict[str, Any] = {"format": format, "columns": columns, "roles": roles}
        return import_files(lambda: cast("Workspace", self), named, **wanted, **reading)


def import_files(
    opened: Callable[[], Workspace],
    files: Iterable[str | os.PathLike[str]],
    *,
    prompt: str,
    model: str | None = None,
    text: str | None = None,
    dry_run: bool = False,
    on_line: Callable[[str], Any] | None = None,
    **options: Any,
) -> ImportResult:
    """Import files as ``lift.import_files`` does, with a service that is opened when it is needed first.

    Parameters
    ----------
    opened
        Opens the service; not called in a dry run, or when there is nothing to log.
    files, prompt, model, text, dry_run
        As for ``lift.import_files``.
    on_line
        Called with each line of the result as soon as it is known.
    options
        For ``transcripts.read_in_parts``.
    """
    if text is not None and not text.strip():
        raise ConfigError("The text of the prompt is empty.")
    from promptlift import transcripts  # noqa: PLC0415  many import nothing
    from promptlift.workspace.importing.destination import Destination  # noqa: PLC0415

    paths = [Path(file) for file in files]
    others = transcripts.OtherFiles(paths)
    result = ImportResult()

    def add(line: str) -> None:
        result.lines.append(line)
        if on_line is not None:
            on_line(line)

    destination = Destination(opened, prompt=prompt, model=model, text=text, on_line=add)
    # One file after another, as exports may be large.
    for path in paths:
        one = FileImport(str(path), transcripts.Reading())
        result.files.append(one)
        parts = one.parts(_parts(path, beside=others, **options))
        if dry_run:
            destination.plan(parts)
        else:
            one.logged = destination.log(parts)
        for line in one.lines():
            add(line)
    about_texts = ["The files contain no conversations that could be logged."]
    if result.conversations or not paths:
        about_texts = destination.describe() if dry_run else destination.set_prompt_texts()
    if dry_run:
        about_texts.append("Nothing was logged: this was a dry run.")
    for line in about_texts:
        add(line)
    result.prompts = destination.prompts
    return result


def _parts(path: Path, **options: Any) -> Iterator[Reading]:
    from promptlift import transcripts  # noqa: PLC0415

    try:
        yield from transcripts.read_in_parts(path, **options)
    except TranscriptError as error:
        yield transcripts.Reading(problems=[transcripts.Problem(str(path), None, str(error))])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
