"""How many connections there may be at a time, and how long each may keep the service waiting."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from promptlift.errors import ConfigError

# One Python process answers no more clients than these at a time, whatever the operating system allows.
_MOST_CONNECTIONS = 4096
_LEAST_CONNECTIONS = 8


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of the connections of one service process. Times are seconds.

    Attributes
    ----------
    headers
        From the connection, or from the first byte of a later request, to the end of its headers.
    body
        What a body may take at any speed, and the longest silence in it. One that takes longer must come at
        ``rate`` or faster on average. The same holds for the client that reads an answer.
    rate
        Bytes a second.
    idle
        Between an answer and the next request.
    connections
        Connections at a time; 0 is half of the files that the process may have open. The other half is for
        the database, logs and requests to a language model.
    """

    headers: float = 10.0
    body: float = 60.0
    rate: float = 1024.0
    idle: float = 75.0
    connections: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read limits such as ``headers=10,body=60``; those that are not named keep their default.

        Raises
        ------
        ConfigError
            A name is unknown or a value is no positive number.
        """
        values: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = part.partition("=")
            try:
                values[name.strip()] = float(value)
            except ValueError:
                values[name.strip()] = 0.0
        names = {field.name for field in fields(cls)}
        if not values.keys() <= names or not all(0 < value < 1e9 for value in values.values()):
            raise ConfigError(
                f"PROMPTLIFT_CONNECTION_LIMITS must give positive numbers for some of {', '.join(sorted(names))}, "
                f"such as headers=10,body=60, not {text!r}"
            )
        limits: dict[str, float | int] = {**values}
        if "connections" in values:
            limits["connections"] = max(1, int(values["connections"]))
        return cls(**limits)  # type: ignore[arg-type]

    def most(self) -> int:
        """Return how many connections there may be at a time in this process."""
        import resource  # noqa: PLC0415  absent on Windows, where nothing is served

        return self.connections or most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def most_connections(open_files: int) -> int:
    """Return how many connections a process may have that may open `open_files` files.

    >>> most_connections(256), most_connections(1_048_576)
    (128, 4096)
    """
    if open_files < 0:  # without a limit
        return _MOST_CONNECTIONS
    return max(_LEAST_CONNECTIONS, min(_MOST_CONNECTIONS, open_files // 2))
