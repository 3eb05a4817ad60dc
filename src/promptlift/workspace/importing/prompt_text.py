"""The text of the prompt that conversations are imported for: their system prompts, or a file.

Several system prompts are handled so:

- Those that differ only in values filled in for each conversation (a name, the time) are one template, which has
  ``{{value}}`` in their place.
- Up to five become versions of one text, in the order in which they came into use, each live from its first
  conversation.
- Of more the prompt gets the text of most conversations, of equal ones the newest, and the user is asked for the text.
- A text that is known already is never replaced by that of an export.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from promptlift.client.api.group import given
from promptlift.errors import NotFound, ValidationError
from promptlift.transcripts import SystemPrompts
from promptlift.transcripts.system_prompts import MOST_VERSIONS
from promptlift.transcripts.templates import filled_in

if TYPE_CHECKING:
    from promptlift.schema.prompts import Prompt
    from promptlift.transcripts import Reading
    from promptlift.workspace.workspace import Workspace

_VERSIONS_READ: Final = 100


def placeholder_text(name: str) -> str:
    """Return the placeholder of a text that is not known; the specification requires a text."""
    return f"(The text of {name} is not known yet.)"


@dataclass
class PromptText:
    """The text of the prompt that an import goes to.

    Attributes
    ----------
    read
        System prompts of the conversations, by the version of the prompt that the source names.
    given
        Text that the user gave.
    conversations
        Number of conversations, including those without a system prompt.
    """

    read: dict[str | None, SystemPrompts] = field(default_factory=dict)
    given: str | None = None
    conversations: int = 0

    def add(self, reading: Reading) -> None:
        """Add the system prompts of a file, before or after its conversations are logged."""
        for (_, version), prompts in reading.texts_of.items():
            self.read.setdefault(version, SystemPrompts()).merge(prompts)
        self.conversations += len(reading.conversations)

    @property
    def found(self) -> SystemPrompts:
        """The system prompts, each template with its values filled in as one."""
        found = SystemPrompts()
        for version, prompts in self.read.items():
            found.merge(prompts.folded(one_version=version is not None))
        return found

    def describe(self) -> list[str]:
        """Describe what an import would do with the text."""
        found = self.found
        if self.given is not None:
            return ["The text of the prompt would be that of --text."]
        if not found:
            return ["The conversations have no system prompt: the text of a new prompt would not be known."]
        if len(found) > MOST_VERSIONS:
            return [f"{self._many(found)}."]
        return [f"System prompts of the conversations: {len(found)}{self._first_days(found)}"]

    def set_on(self, lift: Workspace, prompt_id: str) -> list[str]:
        """Set the text of a prompt, unless it has one.

        Returns
        -------
        list of str
            Lines to print about it.
        """
        prompt = lift.client.prompts.get(prompt_id)
        found = self.found
        # A foreign service does not mark placeholders.
        unknown = prompt.content_known is False or (
            prompt.content_known is None and prompt.content == placeholder_text(prompt.name)
        )
        if self.given is not None:
            return self._set_given(lift, prompt, found, unknown=unknown)
        if not unknown:
            return self._compared(lift, prompt, found)
        if not found:
            return _unknown_text(prompt)
        if len(found) > MOST_VERSIONS:
            return self._set_one_of_many(lift, prompt, found)
        return self._set_versions(lift, prompt, found)

    def _set_given(
        self, lift: Workspace, prompt: Prompt, found: SystemPrompts, *, unknown: bool
    ) -> list[str]:
        assert self.given is not None  # noqa: S101 - the caller has checked
        lines = []
        if unknown or prompt.content != self.given:
            lift.client.prompts.update(prompt.id, content=self.given)
            lines.append(f"The text of {prompt.name!r} is now that of --text.")
        elif not found:
            lines.append(f"{prompt.name!r} has this text already.")
        if any(one.text != self.given for one in found):
            lines.append("The conversations begin with a different system prompt, which was not used.")
        return lines

    def _set_versions(self, lift: Workspace, prompt: Prompt, found: SystemPrompts) -> list[str]:
        timed = _timed(found)
        for one in found:
            _update(lift, prompt.id, one.text, one.first_at if timed else None)
        if len(found) == 1 and found.are_templates:
            line = (
                f"{self._which(found).capitalize()} begin with one system prompt with other values filled in. The text of "
                f"{prompt.name!r} is the template, with {{{{value}}}} in their place. To set another: {_how_to_set(prompt)}"
            )
            return [line]
        if len(found) == 1:
            return [f"The text of {prompt.name!r} is the system prompt that {self._which(found)} begin with."]
        numbers = _version_numbers(lift, prompt.id)
        which = [numbers[one.text] for one in found if one.text in numbers]
        became = f"versions {_listed(which)}" if len(which) == len(found) else "one text after the other"
        lines = [
            f"{self._many(found)}. They became {became} of {prompt.name!r}{self._first_days(found)}; the last one is live."
        ]
        if not timed:
            lines.append(
                "The conversations have no usable times, so the versions are in the order of the files and "
                "all of them start now."
            )
        if found.overlapping:
            lines.append(
                "Their times overlap, so time alone does not tell which text a conversation had. If these are different "
                "prompts, import each under its own name."
            )
        return lines

    def _set_one_of_many(self, lift: Workspace, prompt: Prompt, found: SystemPrompts) -> list[str]:
        main = found.main
        assert main is not None  # noqa: S101 - there are many
        _update(lift, prompt.id, main.text, None)
        which = f"the one with the most conversations ({main.conversations} of {found.conversations})"
        if main.conversations == 1:
            which = "the newest of them"
        line = (
            f"{self._many(found)}, too many to be versions of one text. The "
            f"text of {prompt.name!r} is {which}. Set the text before you optimize: {_how_to_set(prompt)}"
        )
        return [line]

    def _compared(self, lift: Workspace, prompt: Prompt, found: SystemPrompts) -> list[str]:
        """Warn where the conversations have a different text than the prompt, which keeps its own."""
        others = [
            one for one in found if one.text != prompt.content and not filled_in(prompt.content, one.text)
        ]
        if not others or (len(found) > MOST_VERSIONS and len(others) < len(list(found))):
            return []
        versions = _version_numbers(lift, prompt.id)
        different = [one for one in others if one.text not in versions]
        if not different:
            return []
        which = "" if len(found) == 1 else f" in {len(different)} of {len(found)} cases"
        line = (
            f"Warning: {prompt.name!r} keeps its text, but the conversations begin with a different system prompt{which}. "
            f"To use that one: lift.update_prompt({prompt.id!r}, content=…), or {_how_to_set(prompt)}"
        )
        return [line]

    def _many(self, found: SystemPrompts) -> str:
        which = self._which(found)
        return f"{which[0].upper()}{which[1:]} begin with {len(found)} different system prompts"

    def _which(self, found: SystemPrompts) -> str:
        if found.conversations >= self.conversations:
            return "the conversations"
        return f"{found.conversations} of {self.conversations} conversations"

    @staticmethod
    def _first_days(found: SystemPrompts) -> str:
        if not _timed(found):
            return ""
        return f" (first seen {', '.join(f'{one.first_at:%Y-%m-%d}' for one in found)})"


def _timed(found: SystemPrompts) -> bool:
    """Return whether times say when each text came into use; times in the future cannot be right."""
    now = datetime.now(UTC)
    return found.timed and all(one.first_at is None or one.first_at <= now for one in found)


def _update(lift: Workspace, prompt_id: str, text: str, live_from: datetime | None) -> None:
    """Set a text that was in use since a time, if that fits in with the other versions."""
    try:
        lift.client.prompts.update(prompt_id, content=text, **given(live_from=live_from))
    except ValidationError as error:
        if "liveFrom" not in error.details:
            raise
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
