"""Read the blocks of data in a request to a language model, as a model has to."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BLOCK = re.compile(r"^BEGIN ([0-9a-f]{32})\n(.*?)\n?^END \1$", re.MULTILINE | re.DOTALL)


def read_records(messages: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return the records of all blocks in the messages of a request, in order; anything else is passed over."""
    found = []
    for message in messages:
        for block in BLOCK.finditer(message["content"]):
            for line in block.group(2).split("\n"):
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    found.append(record)
    return found
