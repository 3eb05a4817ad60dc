"""What an operator decides before the service starts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args
from urllib.parse import unquote

import platformdirs

from promptlift.errors import ConfigError
from promptlift.schema.limits import PlanName
from promptlift.service.connections.limits import ConnectionLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

API_PATH = "/api/v1"
DATABASE_NAME = "promptlift.db"


def default_data_folder() -> Path:
    """The user's data folder: ``PROMPTLIFT_DATA``, else the platform's place for application data."""
    chosen = os.environ.get("PROMPTLIFT_DATA")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("promptlift"))


@dataclass(frozen=True)
class ServiceSettings:
    """Settings of one service process.

    Attributes
    ----------
    host, port
        Where to listen; port 0 takes any free one.
    data
        Folder of the SQLite file and the lock.
    database_url
        SQLAlchemy address of the database; ``None`` is SQLite in ``data``.
    plan
        Plan of the accounts that this service creates.
    api_key
        Key of the first account; ``None`` makes one at the first start.
    models
        Model names that are valid for a prompt beside the catalogue.
    allow_private_networks
        Whether webhooks and websites may lie on private networks. Reserved: nothing reads it before they are fetched.
    connections
        How many connections there may be, and how long their clients may take.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path = field(default_factory=default_data_folder)
    database_url: str | None = field(default=None, repr=False)
    plan: PlanName = "enterprise"
    api_key: str | None = field(default=None, repr=False)
    models: tuple[str, ...] = ()
    allow_private_networks: bool = False
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)

    def __post_init__(self) -> None:
        if self.plan not in get_args(PlanName):
            raise ConfigError(f"The plan must be one of {', '.join(get_args(PlanName))}, not {self.plan!r}")
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"The port must be from 0 to 65535, not {self.port}")
        if self.api_key is not None and (
            len(self.api_key) < 16 or not self.api_key.isascii() or not self.api_key.isprintable()
        ):
            raise ConfigError("PROMPTLIFT_API_KEY must have at least 16 printable ASCII characters")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Read ``PROMPTLIFT_*`` variables; arguments that are not ``None`` win.

        Raises
        ------
        ConfigError
            A value is not usable; says which and what is.
        """
        env = os.environ if environ is None else environ
        values: dict[str, Any] = {
            "database_url": env.get("PROMPTLIFT_DATABASE_URL") or None,
            "api_key": env.get("PROMPTLIFT_API_KEY") or None,
            "models": tuple(
                name.strip() for name in env.get("PROMPTLIFT_MODELS", "").split(",") if name.strip()
            ),
            "allow_private_networks": env.get("PROMPTLIFT_ALLOW_PRIVATE_NETWORKS", "").lower()
            in ("1", "true", "yes", "on"),
            "connections": ConnectionLimits.parse(env.get("PROMPTLIFT_CONNECTION_LIMITS", "")),
        }
        if env.get("PROMPTLIFT_DATA"):
            values["data"] = Path(env["PROMPTLIFT_DATA"]).expanduser()
        values.update({name: value for name, value in overrides.items() if value is not None})
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise ConfigError(f"Unknown setting: {', '.join(sorted(unknown))}")
        return cls(**values)

    @property
    def resolved_database_url(self) -> str:
        """Address of the database; SQLite in the data folder unless one is given."""
        if self.database_url is None:
            return f"sqlite:///{self.data.expanduser().resolve() / DATABASE_NAME}"
        for short in ("postgres://", "postgresql://"):
            if self.database_url.startswith(short):
                return "postgresql+psycopg://" + self.database_url.removeprefix(short)
        return self.database_url

    def sqlite_file(self) -> Path | None:
        """Return the file of an SQLite database; ``None`` when the database is another one.

        Raises
        ------
        ConfigError
            The database is not in a file.
        """
        scheme, _, rest = self.resolved_database_url.partition("://")
        if not scheme.startswith("sqlite"):
            return None
        name = unquote(rest.removeprefix("/").partition("?")[0].removeprefix("file:"))
        if not name or name == ":memory:":
            raise ConfigError("An SQLite database must be a file: use sqlite:////FOLDER/promptlift.db")
        return Path(name).resolve()
