"""Settings of the language model, from the environment."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import urlsplit

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


REQUEST_SECONDS: Final = 120.0

Number = TypeVar("Number", int, float)
_KINDS: Final[dict[type, str]] = {int: "a whole number", float: "a number of seconds"}


@dataclass(frozen=True)
class LlmSettings:
    """The address of the endpoint, its key, and the names of its models.

    Attributes
    ----------
    base_url
        Address of the endpoint, without ``/chat/completions``, such as ``http://127.0.0.1:11434/v1``.
    model
        Name of the model that judges and writes.
    api_key
        Sent as bearer token; never part of a repr, log line or error. ``None`` sends no token.
    agent_model
        Name of the model that plays the assistant; ``None`` for each prompt's own model.
    timeout
        Maximum seconds for one request. A model on a CPU may need more for a long text.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    agent_model: str | None = None
    timeout: float = REQUEST_SECONDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", _checked_address(self.base_url))
        if not self.model.strip():
            raise ConfigError(
                "PROMPTLIFT_LLM_MODEL is empty. Set it to the name of a model that the endpoint serves."
            )
        if self.api_key is not None and (not self.api_key.isascii() or not self.api_key.isprintable()):
            raise ConfigError(
                "PROMPTLIFT_LLM_API_KEY must be printable ASCII. Check that no line break was copied."
            )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self | None:
        """Read ``PROMPTLIFT_LLM_*``; ``None`` when no ``PROMPTLIFT_LLM_BASE_URL`` is set.

        Raises
        ------
        ConfigError
            A value is missing or invalid; the message names it.
        """
        env = os.environ if environ is None else environ
        base_url = env.get("PROMPTLIFT_LLM_BASE_URL", "").strip()
        if not base_url:
            return None
        return cls(
            base_url=base_url,
            model=env.get("PROMPTLIFT_LLM_MODEL", "").strip(),
            api_key=env.get("PROMPTLIFT_LLM_API_KEY", "").strip() or None,
            agent_model=env.get("PROMPTLIFT_LLM_AGENT_MODEL", "").strip() or None,
            timeout=read_number(env, "PROMPTLIFT_LLM_TIMEOUT", REQUEST_SECONDS, 1, 3_600, kind=float),
        )

    @property
    def on_this_machine(self) -> bool:
        """Whether the endpoint is on loopback, which no proxy can reach."""
        host = urlsplit(self.base_url).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")


def read_number(
    env: Mapping[str, str], name: str, default: Number, low: int, high: int, *, kind: type[Number]
) -> Number:
    """Read a number from the environment.

    Raises
    ------
    ConfigError
        The value is not a number in the range.
    """
    text = env.get(name, "").strip()
    if not text:
        return default
    with suppress(ValueError):
        value = kind(text)
        if low <= value <= high:
            return value
    raise ConfigError(f"{name} must be {_KINDS[kind]} from {low} to {high}, not {text!r}")


def _checked_address(address: str) -> str:
    # An address with a password is not repeated in a message.
    try:
        parts = urlsplit(address.strip())
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise ConfigError(
            "PROMPTLIFT_LLM_BASE_URL is not an address. Use one like https://host/v1."
        ) from error
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "PROMPTLIFT_LLM_BASE_URL must not contain a name or password. Put the key into PROMPTLIFT_LLM_API_KEY."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise ConfigError(f"PROMPTLIFT_LLM_BASE_URL must start with http:// or https://, not {address!r}")
    if parts.query or parts.fragment:
        raise ConfigError("PROMPTLIFT_LLM_BASE_URL must end with its path, such as /v1, without ? or #")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}"
