"""The prompts that an import goes to: one, or one for each prompt that the files name."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.log.result import LogResult
from promptlift.errors import ConfigError, ValidationError
from promptlift.schema import limits
from promptlift.transcripts import Reading
from promptlift.workspace.importing.prompt_text import PromptText, placeholder_text
from promptlift.workspace.prompt_names import PromptNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from promptlift.workspace.workspace import Workspace

__all__ = ["Destination"]

# A prompt has to name a model; this one is in every catalogue.
_ANY_MODEL: Final = "gpt-4o-mini"
# The tag of a prompt that says which prompt of the source it holds.
_SOURCE_TAG: Final = "source:"


class Destination:
    """The prompts that an import goes to. The service is opened, and a prompt created, when there is something to log.

    All conversations go to the prompt that the user names, unless the files name several prompts themselves. Then each goes
    to one of its own, "NAME / its name"; conversations without a name go to NAME.

    Parameters
    ----------
    opened
        Opens the service to log to.
    prompt
        Name or id of the prompt; it is created when there is none of that name.
    model
        Model of a new prompt; ``None`` is the one that most conversations name, of a large first file most of its first
        thousand.
    text
        Text of the prompt, if the user gave one.
    on_line
        Called with each line about new prompts.
    """

    def __init__(
        self,
        opened: Callable[[], Workspace],
        *,
        prompt: str,
        model: str | None,
        text: str | None,
        on_line: Callable[[str], None],
    ) -> None:
        self._opened = opened
        self._on_line = on_line
        self._prompt = prompt
        self._model = model
        self._text = text
        self._found: PromptNames | None = None
        # The prompt of the source that goes to the prompt of the given name itself.
        self._own: str | None = None
        self._texts: dict[str, PromptText] = {}
        self.prompts: dict[str, str] = {}

    @cached_property
    def service(self) -> Workspace:
        """The service, which is opened or started when it is needed first."""
        return self._opened()

    def log(self, parts: Iterable[Reading]) -> LogResult:
        """Log the conversations of a file, each to its prompt, while later parts of it are read.

        Parameters
        ----------
        parts
            The file as it is read.
        """
        total = LogResult()
        for name, following in itertools.groupby(self._placed(parts), key=itemgetter(0)):
            here = (part for _, part in following)
            first = next(here)
            if total.stopped:
                total.not_sent += sum(len(part.conversations) for part in (first, *here))
                continue
            prompt_id = self._open(name, first)
            _add(total, self.service.log(itertools.chain([first], here), prompt_id=prompt_id))
        return total

    def plan(self, parts: Iterable[Reading]) -> None:
        """Take note of the conversations of a file that are not to be logged."""
        for part in parts:
            self._by_prompt(part)

    def _placed(self, parts: Iterable[Reading]) -> Iterator[tuple[str, Reading]]:
        """Yield the conversations of parts of a file with the names of the prompts that they go to."""
        for part in parts:
            if part.conversations:
                if self._found is None:
                    self._found = PromptNames(self.service.client.transport)
                    self._own = self._known_source()
                yield from self._by_prompt(part).items()

    def describe(self) -> list[str]:
        """Describe what an import would do."""
        several = len(self._texts) > 1
        return [
            f"{name!r}, {text.conversations} conversations: {line}" if several else line
            for name, text in (self._texts or {self._prompt: PromptText(given=self._text)}).items()
            for line in text.describe()
        ]

    def set_prompt_texts(self) -> list[str]:
        """Set the texts of the prompts, when all files are read, and return the lines to print about them."""
        if not self._texts:
            self._texts[self._prompt] = PromptText(given=self._text)
            if self._found is None:
                self._found = PromptNames(self.service.client.transport)
        return [
            line
            for name, text in self._texts.items()
            for line in text.set_on(self.service, self._open(name, Reading()))
        ]

    def _by_prompt(self, reading: Reading) -> dict[str, Reading]:
        """Return the conversations of a part of a file by the names of the prompts that they go to."""
        here = {one.prompt_name for one in reading.conversations}
        sources = here | (reading.prompts_of_file or set())
        names = {
            source: self._name_of(source, several=len(sources) > 1)
            for source in sorted(sources, key=lambda one: (one is not None, one or ""))
        }
        if self._text is not None and len({*names.values(), *self._texts}) > 1:
            raise ConfigError(
                f"--text is the text of one prompt, and the files name several: {', '.join(map(repr, names.values()))}. "
                "Import them without --text, then give each its text: promptlift import --prompt NAME --text FILE"
            )
        parts = {}
        for name in dict.fromkeys(names[source] for source in names if source in here):
            part = replace(
                reading,
                conversations=[one for one in reading.conversations if names[one.prompt_name] == name],
                texts_of={key: text for key, text in reading.texts_of.items() if names.get(key[0]) == name},
            )
            self._texts.setdefault(name, PromptText(given=self._text)).add(part)
            parts[name] = part
        return parts

    def _name_of(self, source: str | None, *, several: bool) -> str:
        """Return the name of the prompt for one that the files name."""
        if source is None or source.casefold() == self._prompt.casefold():
            return self._prompt
        own = f"{self._group()} / {source}"[: limits.NAME_CHARS]
        if own in self._texts or (self._found is not None and self._found.find(own) is not None):
            return own
        if self._own is None and not several:
            self._own = source
        return self._prompt if source == self._own else own

    def _group(self) -> str:
        """Return the name that the user gave, or that of the id."""
        if self._found is not None and PromptNames.is_our_id(self._prompt):
            return self.service.client.prompts.get(self._prompt).name
        return self._prompt

    def _known_source(self) -> str | None:
        """Return which prompt of the source an earlier import put under the name itself."""
        assert self._found is not None  # noqa: S101 - the caller made it
        prompt_id = self._found.find(self._prompt)
        tags = [] if prompt_id is None else self.service.client.prompts.get(prompt_id).tags
        return next((tag.removeprefix(_SOURCE_TAG) for tag in tags if tag.startswith(_SOURCE_TAG)), None)

    def _open(self, name: str, reading: Reading) -> str:
        """Return the id of a prompt, which is created when there is none of the name."""
        assert self._found is not None  # noqa: S101 - the caller made it
        if name not in self.prompts:
            prompt_id = self._found.find(name)
            if prompt_id is None:
                if self._found.is_our_id(name):
                    raise self._found.unknown(name)
                near = [] if name != self._prompt else self._found.near(name)
                prompt_id = self._make_prompt(name, reading)
                if near:
                    self._on_line(
                        f"  There was no prompt of that name. If you meant another: {', '.join(near)}"
                    )
            self.prompts[name] = prompt_id
        return self.prompts[name]

    def _make_prompt(self, name: str, reading: Reading) -> str:
        named = Counter(item.llm_model for item in reading.conversations if item.llm_model)
        wanted = self._model or (named.most_common(1)[0][0] if named else _ANY_MODEL)
        # The specification requires a text. This one is a placeholder until all files are read, or for good, and marked as such.
        fields: dict[str, Any] = {"name": name, "content": placeholder_text(name), "content_known": False}
        source = next(iter(reading.prompt_names), None)
        if source is not None and len(_SOURCE_TAG + source) <= limits.TAG_CHARS:
            fields["tags"] = [_SOURCE_TAG + source]
        prompts = self.service.client.prompts
        try:
            made = prompts.create(**fields, llm_model=wanted)
        except ValidationError as error:
            if self._model is not None or wanted == _ANY_MODEL or "llmModel" not in error.details:
                raise
            self._on_line(
                f"The service does not know the model {wanted}, so the prompt was created with {_ANY_MODEL}. To choose another: --model"
            )
            made = prompts.create(**fields, llm_model=_ANY_MODEL)
        # There was none: any other of that name is of an import that runs now, and both take the first one.
        first = [one.id for one in prompts.list().data if one.name == name][-1:]
        if first and first != [made.id]:
            prompts.delete(made.id)
            return first[0]
        self._on_line(f"New prompt {name!r} ({made.id})")
        return made.id


def _add(total: LogResult, one: LogResult) -> None:
    """Add the result of one prompt to that of the file."""
    for name in ("logged", "updated", "already_there", "failed", "not_sent"):
        setattr(total, name, getattr(total, name) + getattr(one, name))
    total.stopped = total.stopped or one.stopped
