"""The system prompts at the beginning of an export's conversations, in order of first use."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.templates import Template, templates_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

__all__ = ["MOST_VERSIONS", "SystemPrompt", "SystemPrompts"]

# More texts than this that differ only in some values are one template, not versions of a text.
MOST_VERSIONS: Final = 5

# A template filled in for every conversation gives as many texts as conversations. Its texts are counted
# together; only some of the others are kept.
KEPT_TEXTS: Final = 64


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """One system prompt and the conversations that begin with it.

    Attributes
    ----------
    text
        As in the source.
    conversations
        How many begin with it.
    first_at, last_at
        When the first and the last of them began; ``None`` if none has a time.
    first_place, last_place
        Indices of these among all conversations with a system prompt, from 0, in reading order.
    """

    text: str
    conversations: int
    first_at: datetime | None
    last_at: datetime | None
    first_place: int
    last_place: int


class SystemPrompts:
    """Counts the system prompts of conversations by their text.

    Examples
    --------
    >>> prompts = SystemPrompts()
    >>> prompts.add("You help.", None)
    >>> prompts.add("You help.", None)
    >>> len(prompts), prompts.conversations
    (1, 2)
    >>> [prompt.text for prompt in prompts]
    ['You help.']
    """

    def __init__(self) -> None:
        # By hash; the text is empty if it is not kept.
        self._found: dict[bytes, SystemPrompt] = {}
        self._texts: set[bytes] = set()
        self._templates: list[Template] = []
        self.conversations = 0

    def __len__(self) -> int:
        """Count the different texts."""
        return len(self._found)

    def __iter__(self) -> Iterator[SystemPrompt]:
        """Iterate over the prompts in order of first use; if there are very many, only over some.

        This is the order of the first conversations, by their times if every prompt has one, otherwise in
        reading order.
        """
        kept = [self._found[key] for key in self._texts]
        timed = self.timed
        return iter(sorted(kept, key=lambda prompt: _start(prompt, timed=timed)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SystemPrompts) and self._found == other._found

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<SystemPrompts: {len(self)} in {self.conversations} conversations>"

    @property
    def timed(self) -> bool:
        """Whether the time of first use is known for each prompt."""
        return all(prompt.first_at is not None for prompt in self._found.values())

    @property
    def are_templates(self) -> bool:
        """Whether every one of them is a template with values filled in."""
        templates = {template.text for template in self._templates}
        return bool(self._texts) and all(prompt.text in templates for prompt in self)

    @property
    def overlapping(self) -> bool:
        """Whether one prompt was still in use after the first use of the next."""
        timed = self.timed
        return any(_end(one, timed=timed) > _start(next_one, timed=timed) for one, next_one in pairwise(self))

    @property
    def main(self) -> SystemPrompt | None:
        """The prompt of most conversations, on a tie the last used; ``None`` if there is none."""
        timed = self.timed
        return max(self, key=lambda prompt: (prompt.conversations, _end(prompt, timed=timed)), default=None)

    def add(self, text: str, at: datetime | None) -> None:
        """Count a conversation.

        Parameters
        ----------
        text
            Its system prompt.
        at
            When it began, if known.
        """
        place = self.conversations
        self._take(SystemPrompt(text, 1, at, at, place, place))
        self.conversations += 1

    def merge(self, later: SystemPrompts) -> None:
        """Add the counts of another file.

        Parameters
        ----------
        later
            Counts of a file that was read after those counted here.
        """
        known = {one.text for one in self._templates}
        self._templates += [one for one in later._templates if one.text not in known]
        for key, prompt in sorted(later._found.items(), key=lambda item: item[1].first_place):
            moved = replace(
                prompt,
                first_place=prompt.first_place + self.conversations,
                last_place=prompt.last_place + self.conversations,
            )
            self._take(moved, key)
        self.conversations += later.conversations

    def folded(self, *, one_version: bool = False) -> SystemPrompts:
        """Return the prompts, merging those that differ only in filled-in values into their template.

        Up to five similar texts may also be versions. They are a template if the values are dates, times,
        addresses or ids, or if the source assigns them to one version.

        Parameters
        ----------
        one_version
            Whether the source assigns all of them to one version.
        """
        folded = SystemPrompts()
        folded.merge(self)
        for template in templates_of([prompt.text for prompt in self]):
            many = len(template.texts) > MOST_VERSIONS
            if len(template.texts) > 1 and (many or one_version or template.of_dates_or_ids):
                folded._fold(template)
        return folded

    def _fold(self, template: Template) -> None:
        """Count the texts of a template together, including future ones."""
        keys = [key for key in self._texts if template.matches(self._found[key].text)]
        prompts = [self._found.pop(key) for key in keys]
        self._texts.difference_update(keys)
        self._templates.append(template)
        for prompt in sorted(prompts, key=lambda one: one.first_place):
            self._take(prompt)

    def _take(self, prompt: SystemPrompt, key: bytes | None = None) -> None:
        template = next((one for one in self._templates if one.matches(prompt.text)), None)
        if template is not None:
            prompt, key = replace(prompt, text=template.text), None
        key = key or hashlib.sha256(prompt.text.encode("utf-8", "surrogatepass")).digest()
        known = self._found.get(key)
        self._found[key] = prompt if known is None else _joined(known, prompt)
        if self._found[key].text:
            self._texts.add(key)
        if len(self._texts) > 2 * KEPT_TEXTS:
            self._forget_texts()

    def _forget_texts(self) -> None:
        """Fold templates, then keep the texts with the most conversations, preferring the newest on a tie."""
        # Each further text is compared with every template.
        for template in templates_of([self._found[key].text for key in self._texts]):
            if len(template.texts) > MOST_VERSIONS and len(self._templates) < KEPT_TEXTS:
                self._fold(template)

        def weight(key: bytes) -> tuple[int, int]:
            return self._found[key].conversations, self._found[key].last_place

        ordered = sorted(self._texts, key=weight, reverse=True)
        for key in ordered[KEPT_TEXTS:]:
            self._found[key] = replace(self._found[key], text="")
        self._texts = set(ordered[:KEPT_TEXTS])


def _start(prompt: SystemPrompt, *, timed: bool) -> Any:
    return prompt.first_at if timed else prompt.first_place


def _end(prompt: SystemPrompt, *, timed: bool) -> Any:
    return prompt.last_at if timed else prompt.last_place


def _joined(earlier: SystemPrompt, later: SystemPrompt) -> SystemPrompt:
    """Join two counts of one text, in the order in which they were read."""
    return replace(
        earlier,
        text=earlier.text or later.text,
        conversations=earlier.conversations + later.conversations,
        first_at=min(filter(None, (earlier.first_at, later.first_at)), default=None),
        last_at=max(filter(None, (earlier.last_at, later.last_at)), default=None),
        last_place=later.last_place,
    )
