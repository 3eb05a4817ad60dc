"""The service that a command uses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

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
            raise ConfigError("--base-url and --data name two different services: give only one of them.")
        if self.data is None and (self.base_url or os.environ.get("PROMPTLIFT_BASE_URL")):
            return promptlift.connect(self.base_url)
        return promptlift.local(self.data)
