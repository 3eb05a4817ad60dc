"""Which service a command speaks to, and which prompt a name means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from promptlift.workspace import Workspace


@dataclass(frozen=True)
class Target:
    """The service that a command names: by address, by data folder, or by the environment.

    Attributes
    ----------
    base_url
        Address as given; ``None`` looks at ``PROMPTLIFT_BASE_URL``.
    data
        Data folder as given; it means the embedded service.
    """

    base_url: str | None = None
    data: Path | None = None

    def open(self) -> Workspace:
        """Connect to the service, or start the embedded one.

        Raises
        ------
        ConfigError
            Both an address and a data folder were given.
        """
        import promptlift  # noqa: PLC0415  help and usage errors need no tables

        if self.base_url is not None and self.data is not None:
            raise ConfigError("--base-url and --data name two services: give one of them.")
        if self.data is None and (self.base_url or os.environ.get("PROMPTLIFT_BASE_URL")):
            return promptlift.connect(self.base_url)
        return promptlift.local(self.data)


def find_prompt(prompts: pd.DataFrame, wanted: str) -> str | None:
    """Find the id of the prompt that a name or an id means; ``None`` when there is none.

    Archived prompts count only when no other has the name.

    Parameters
    ----------
    prompts
        The table of prompts.
    wanted
        Name or id.

    Raises
    ------
    ConfigError
        Several prompts have the name; the message lists their ids.
    """
    if (prompts["prompt_id"] == wanted).any():
        return wanted
    named = prompts[prompts["name"] == wanted]
    live = named[named["status"] != "archived"]
    found = live if len(live) else named
    if len(found) > 1:
        lines = [f"  {row.prompt_id}  made {row.created_at:%Y-%m-%d %H:%M}" for row in found.itertuples()]
        raise ConfigError(
            f"{len(found)} prompts have the name {wanted!r}. Give the id instead:\n" + "\n".join(lines)
        )
    return str(found["prompt_id"].iloc[0]) if len(found) else None


def need_prompt(prompts: pd.DataFrame, wanted: str) -> str:
    """Find the id of the prompt that a name or an id means.

    Parameters
    ----------
    prompts
        The table of prompts.
    wanted
        Name or id.

    Raises
    ------
    NotFound
        There is none; the message lists the names there are.
    """
    found = find_prompt(prompts, wanted)
    if found is None:
        names = ", ".join(sorted(set(prompts["name"]))[:20]) or "none yet; `promptlift import` makes them"
        raise NotFound(f"There is no prompt {wanted!r}. There are: {names}")
    return found
