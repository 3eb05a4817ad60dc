"""What an operator decides before the service starts."""

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


def default_data_folder() -> Path:
    """Return the user's data folder: ``PROMPTLIFT_DATA``, else the platform's place for application data."""
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
        Plan of the first account; ``None`` leaves an account that exists as it is, and a new one is ``enterprise``.
    api_key
        Key of the first account; ``None`` makes one at the first start.
    models
        Model names that are valid for a prompt beside the catalogue.
    allow_private_networks
        Whether webhooks and websites may lie on private networks.
    secret_key
        What the secrets of webhooks are made from; ``None`` takes that of the file beside the database.
    work
        Whether this process does background work; if not, others have to.
    lease_seconds
        A background worker that gave no sign of life for so long has its work taken over.
    otlp_quiet_seconds
        A conversation that spans tell of is logged when no span of it came for so long.
    rehearsal_seconds
        Seconds that a rehearsal takes when it needs every pass, where its request names none; 0 is as fast as it can be.
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
        if not 1 <= self.lease_seconds <= 3600:
            raise ConfigError("PROMPTLIFT_LEASE_SECONDS must be a number of seconds from 1 to 3600")
        if not 0 <= self.otlp_quiet_seconds <= 86_400:
            raise ConfigError("PROMPTLIFT_OTLP_QUIET_SECONDS must be a number of seconds from 0 to 86400")
        if not 0 <= self.rehearsal_seconds <= REHEARSAL_SECONDS_MAX:
            raise ConfigError(
                f"PROMPTLIFT_REHEARSAL_SECONDS must be a number of seconds from 0 to {REHEARSAL_SECONDS_MAX:.0f}"
            )

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
            "secret_key": env.get("PROMPTLIFT_SECRET_KEY") or None,
        }
        for name in ("lease_seconds", "otlp_quiet_seconds", "rehearsal_seconds"):
            text = env.get(f"PROMPTLIFT_{name.upper()}")
            if text:
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
