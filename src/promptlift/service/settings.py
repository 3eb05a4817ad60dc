"""The operator's settings of the service."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, get_args
from urllib.parse import unquote

import platformdirs

from promptlift.errors import ConfigError
from promptlift.schema.limits import PlanName
from promptlift.schema.optimizations import REHEARSAL_SECONDS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

API_PATH = "/api/v1"
DEFAULT_PLAN: Final = "enterprise"
DATABASE_NAME = "promptlift.db"
# Variables, the attributes that they set, and the numbers that these may have.
_SECONDS: Final = {
    "PROMPTLIFT_LEASE_SECONDS": ("lease_seconds", 1.0, 3600.0),
    "PROMPTLIFT_OTLP_QUIET_SECONDS": ("otlp_quiet_seconds", 0.0, 86_400.0),
    "PROMPTLIFT_REHEARSAL_SECONDS": ("rehearsal_seconds", 0.0, REHEARSAL_SECONDS_MAX),
}


def default_data_folder() -> Path:
    """Return the user's data folder: ``PROMPTLIFT_DATA``, or else the platform's folder for application data."""
    chosen = os.environ.get("PROMPTLIFT_DATA")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("promptlift"))


@dataclass(frozen=True)
class ServiceSettings:
    """Settings of one service process.

    Attributes
    ----------
    host, port
        Where to listen; port 0 for any free one.
    data
        Folder of the SQLite file and the lock.
    database_url
        SQLAlchemy address of the database; ``None`` is SQLite in ``data``.
    plan
        Plan of the first account; ``None`` leaves an existing account unchanged and makes a new one
        ``enterprise``.
    api_key
        Key of the first account; ``None`` creates one at the first start.
    models
        Model names that are valid for a prompt in addition to the catalogue.
    allow_private_networks
        Whether webhooks and websites may be on private networks.
    secret_key
        Key from which the secrets of webhooks are derived; ``None`` for the key in the file next to the
        database.
    work
        Whether this process does background work; if not, other processes have to.
    lease_seconds
        Work of a background worker that gives no sign of life for this long is taken over.
    otlp_quiet_seconds
        A conversation received as spans is logged after this long without another span.
    rehearsal_seconds
        Default duration of a rehearsal that needs every pass; 0 for as fast as possible.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path = field(default_factory=default_data_folder)
    database_url: str | None = field(default=None, repr=False)
    plan: PlanName | None = None
    api_key: str | None = field(default=None, repr=False)
    models: tuple[str, ...] = ()
    allow_private_networks: bool = False
    secret_key: str | None = field(default=None, repr=False)
    work: bool = True
    lease_seconds: float = 15.0
    otlp_quiet_seconds: float = 300.0
    rehearsal_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.plan is not None and self.plan not in get_args(PlanName):
            raise ConfigError(f"The plan must be one of {', '.join(get_args(PlanName))}, not {self.plan!r}")
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"The port must be from 0 to 65535, not {self.port}")
        if self.api_key is not None and (
            len(self.api_key) < 16 or not self.api_key.isascii() or not self.api_key.isprintable()
        ):
            raise ConfigError("PROMPTLIFT_API_KEY must have at least 16 printable ASCII characters")
        if self.secret_key is not None and len(self.secret_key) < 32:
            raise ConfigError("PROMPTLIFT_SECRET_KEY must have at least 32 characters, all of them random")
        for variable, (name, low, high) in _SECONDS.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{variable} must be a number of seconds from {low:.0f} to {high:.0f}")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Read ``PROMPTLIFT_*`` variables; arguments other than ``None`` take precedence.

        Raises
        ------
        ConfigError
            A value is invalid; the message names it and the valid values.
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
            "secret_key": env.get("PROMPTLIFT_SECRET_KEY") or None,
        }
        for variable, (name, _, _) in _SECONDS.items():
            if text := env.get(variable):
                try:
                    values[name] = float(text)
                except ValueError:
                    values[name] = -1.0  # refused below
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
        """Return the file of an SQLite database; ``None`` for another database.

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
