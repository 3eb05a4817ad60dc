"""The text of the prompt that conversations are imported for: their system prompts, or a file.

Several system prompts are handled so:

- Up to five become versions of one text, in the order in which they came into use, each live from its first
  conversation.
- More are taken for one template that was filled in for each conversation (a name, the time). The prompt gets the text
  of most conversations, of equal ones the newest, and the user is asked for the template.
- A text that is known already is never replaced by that of an export.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from promptlift.errors import ConfigError, NotFound, ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.schema.prompts import Prompt
    from promptlift.transcripts import Reading, SystemPrompts
    from promptlift.workspace import Workspace

# With more different texts than this it is a template rather than versions of one text.
MOST_VERSIONS: Final = 5
_VERSIONS_READ: Final = 100


def read_text(file: Path) -> str:
    """Read the text of a prompt, exactly as it stands in the file.

    Raises
    ------
    ConfigError
        When it is not UTF-8 text, or empty.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 text ({error.reason}). Save it as UTF-8, without formatting."
        ) from error
    if not text.strip():
        raise ConfigError(f"{file} is empty. It must hold the text of the prompt.")
    return text


def placeholder_text(name: str) -> str:
    """Return the placeholder of a text that is not known; the specification requires a text."""
    return f"(The text of {name} is not known yet.)"


@dataclass
class PromptText:
    """The text of the prompt that an import goes to.

    Attributes
    ----------
    found
        System prompts of the conversations.
    given
        Text that the user gave.
    conversations
        Number of conversations, including those without a system prompt.
    """

    found: SystemPrompts
    given: str | None = None
    conversations: int = 0

    def add(self, reading: Reading) -> None:
        """Add the system prompts of a file, before or after its conversations are logged."""
        self.found.merge(reading.system_prompts)
        self.conversations += len(reading.conversations)

    def describe(self) -> list[str]:
        """Describe what an import would do with the text."""
        if self.given is not None:
            return ["The text of the prompt would be that of --text."]
        if not self.found:
            return ["The conversations have no system prompt: the text of a new prompt would not be known."]
        if len(self.found) > MOST_VERSIONS:
            return [f"{self._many()}."]
        return [f"System prompts of the conversations: {len(self.found)}{self._first_days()}"]

    def set_on(self, lift: Workspace, prompt_id: str) -> list[str]:
        """Set the text of a prompt, unless it has one.

        Returns
        -------
        list of str
            Lines to print about it.
        """
        prompt = lift.client.prompts.get(prompt_id)
        # A foreign service does not mark placeholders.
        unknown = prompt.content_known is False or (
            prompt.content_known is None and prompt.content == placeholder_text(prompt.name)
        )
        if self.given is not None:
            return self._set_given(lift, prompt, unknown=unknown)
        if not unknown:
            return self._compared(lift, prompt)
        if not self.found:
            return _unknown_text(prompt)
        if len(self.found) > MOST_VERSIONS:
            return self._set_one_of_many(lift, prompt)
        return self._set_versions(lift, prompt)

    def _set_given(self, lift: Workspace, prompt: Prompt, *, unknown: bool) -> list[str]:
        assert self.given is not None  # noqa: S101 - the caller has checked
        lines = []
        if unknown or prompt.content != self.given:
            lift.client.prompts.update(prompt.id, content=self.given)
            lines.append(f"The text of {prompt.name!r} is now that of --text.")
        if any(one.text != self.given for one in self.found):
            lines.append("The conversations begin with a different system prompt, which was not used.")
        return lines

    def _set_versions(self, lift: Workspace, prompt: Prompt) -> list[str]:
        timed = self._timed
        for one in self.found:
            _update(lift, prompt.id, one.text, one.first_at if timed else None)
        if len(self.found) == 1:
            return [f"The text of {prompt.name!r} is the system prompt that {self._which()} begin with."]
        numbers = _version_numbers(lift, prompt.id)
        which = [numbers[one.text] for one in self.found if one.text in numbers]
        became = f"versions {_listed(which)}" if len(which) == len(self.found) else "one text after the other"
        lines = [
            f"{self._many()}. They became {became} of {prompt.name!r}{self._first_days()}; the last one is live."
        ]
        if not timed:
            lines.append(
                "The conversations have no usable times, so the versions are in the order of the files and "
                "all of them start now."
            )
        if self.found.overlapping:
            lines.append(
                "Their times overlap, so time alone does not tell which text a conversation had. If these are different "
                "prompts, import each under its own name."
            )
        return lines

    def _set_one_of_many(self, lift: Workspace, prompt: Prompt) -> list[str]:
        main = self.found.main
        assert main is not None  # noqa: S101 - there are many
        _update(lift, prompt.id, main.text, None)
        which = (
            "the newest of them"
            if main.conversations == 1
            else f"the one with the most conversations ({main.conversations} of {self.found.conversations})"
        )
        line = (
            f"{self._many()}, too many to be versions of one text: probably a template that was filled in for each. The "
            f"text of {prompt.name!r} is {which}. Set the template before you optimize: {_how_to_set(prompt)}"
        )
        return [line]

    def _compared(self, lift: Workspace, prompt: Prompt) -> list[str]:
        """Warn where the conversations have a different text than the prompt, which keeps its own."""
        others = [one for one in self.found if one.text != prompt.content]
        if not others or (len(self.found) > MOST_VERSIONS and len(others) < len(list(self.found))):
            return []
        versions = _version_numbers(lift, prompt.id)
        different = [one for one in others if one.text not in versions]
        if not different:
            return []
        which = "" if len(self.found) == 1 else f" in {len(different)} of {len(self.found)} cases"
        line = (
            f"Warning: {prompt.name!r} keeps its text, but the conversations begin with a different system prompt{which}. "
            f"To use that one: lift.client.prompts.update({prompt.id!r}, content=…), or {_how_to_set(prompt)}"
        )
        return [line]

    @property
    def _timed(self) -> bool:
        """Whether times say when each text came into use; times in the future cannot be right."""
        now = datetime.now(UTC)
        return self.found.timed and all(one.first_at is None or one.first_at <= now for one in self.found)

    def _many(self) -> str:
        which = self._which()
        return f"{which[0].upper()}{which[1:]} begin with {len(self.found)} different system prompts"

    def _which(self) -> str:
        count = self.found.conversations
        return (
            "the conversations"
            if count >= self.conversations
            else f"{count} of {self.conversations} conversations"
        )

    def _first_days(self) -> str:
        if not self._timed:
            return ""
        return f" (first seen {', '.join(f'{one.first_at:%Y-%m-%d}' for one in self.found)})"


def _update(lift: Workspace, prompt_id: str, text: str, live_from: datetime | None) -> None:
    """Set a text that was in use since a time, if that fits in with the other versions."""
    if live_from is not None:
        try:
            lift.client.prompts.update(prompt_id, content=text, live_from=live_from)
        except ValidationError as error:
            if "liveFrom" not in error.details:
                raise
        else:
            return
    lift.client.prompts.update(prompt_id, content=text)


def _version_numbers(lift: Workspace, prompt_id: str) -> dict[str, int]:
    """Return the numbers of the newest versions by their texts; none where the service has no versions."""
    try:
        versions = lift.client.prompts.versions(prompt_id, limit=_VERSIONS_READ).data
    except NotFound:
        return {}
    return {one.content: one.number for one in versions if one.content is not None}


def _unknown_text(prompt: Prompt) -> list[str]:
    nothing = f"The conversations have no system prompt, so the text of {prompt.name!r} is not known."
    lines = [f"{nothing} Set it before you optimize: {_how_to_set(prompt)}"]
    if prompt.content_known is None:
        lines.append(
            f"This service does not know that, and would optimize the placeholder: {prompt.content!r}"
        )
    return lines


def _how_to_set(prompt: Prompt) -> str:
    return f"promptlift import --prompt {prompt.id} --text FILE"


def _listed(numbers: list[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}"
