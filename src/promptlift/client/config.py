"""The address of the service and the API key; mistakes are reported before any request."""

from __future__ import annotations

import ipaddress
import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptlift.client.secret import Secret
from promptlift.errors import ConfigError
from promptlift.schema.naming import Scheme, scheme_of

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE_URL_VARIABLE = "PROMPTLIFT_BASE_URL"
API_KEY_VARIABLE = "PROMPTLIFT_API_KEY"
VERSION_PATH = "/api/v1"


class UnencryptedConnection(UserWarning):
    """The key and all data go over the network unencrypted."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The address of the service, its API key and the timeouts.

    Attributes
    ----------
    base_url
        Address up to and including ``/api/v1``, without a slash at the end.
    key
        The API key.
    scheme
        Naming scheme on the wire.
    connect_timeout, read_timeout
        Seconds.
    floor_rate
        Minimum bytes per second of an answer once the read timeout is used up.
    """

    base_url: str
    key: Secret
    scheme: Scheme
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    floor_rate: float = 8_192.0


def configure(
    base_url: str | None = None,
    api_key: str | None = None,
    *,
    scheme: str = "prompt",
    environ: Mapping[str, str] | None = None,
) -> ClientConfig:
    """Create a configuration from arguments, or else from the environment.

    An ``http://`` address that is not on this computer is used, with the warning :class:`UnencryptedConnection`.

    Raises
    ------
    ConfigError
        The message explains what is missing or wrong, and what to do next. It never shows the key.
    """
    environ = os.environ if environ is None else environ
    address = base_url if base_url is not None else environ.get(BASE_URL_VARIABLE)
    if not address or not address.strip():
        raise ConfigError(
            f'No service address. Set {BASE_URL_VARIABLE}, or pass base_url="https://…/api/v1"; '
            "promptlift.local() starts a service on this computer."
        )
    try:
        naming = scheme_of(scheme)
    except ValueError as error:
        raise ConfigError(f"{error}.") from None
    given = "api_key" if api_key is not None else API_KEY_VARIABLE
    key = _checked_key(Secret(environ.get(API_KEY_VARIABLE, "") if api_key is None else api_key), given)
    base_url = normalise_base_url(address)
    parts = urlsplit(base_url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        warnings.warn(
            f"The API key goes to {parts.netloc} unencrypted, and so do all data: anybody in between can "
            "read both. Use https://, or a tunnel to this computer such as 'ssh -L'.",
            UnencryptedConnection,
            stacklevel=3,
        )
    return ClientConfig(base_url, key, naming)


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer, so that nothing leaves it."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def normalise_base_url(address: str) -> str:
    """Normalize an address to the form that ends with ``/api/v1``.

    Raises
    ------
    ConfigError
        It is not an http or https address, or contains a user name, a query or a fragment.
    """
    address = address.strip()
    try:
        parts = urlsplit(address)
        host, _port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(
            f"The service address cannot be read: {error}. Use one such as https://host/api/v1."
        ) from None
    if "@" in parts.netloc:
        raise ConfigError(
            "The service address must not contain a user name or password. Pass the key as api_key=."
        )
    if parts.scheme not in ("http", "https"):
        raise ConfigError(
            f"The service address {address!r} must begin with http:// or https://, such as https://host/api/v1."
        )
    if not host or any(char.isspace() or not char.isprintable() for char in address):
        raise ConfigError(
            f"The service address {address!r} names no host. Use one such as https://host/api/v1."
        )
    if not host.isascii():
        raise ConfigError(
            f"The host of the service address {address!r} must be in ASCII, as DNS has it, such as xn--bcher-kva.example."
        )
    if parts.query or parts.fragment:
        raise ConfigError(
            f"The service address {address!r} must not have a query or fragment; end it at /api/v1."
        )
    path = parts.path.rstrip("/")
    if path.endswith("/api"):
        path += "/v1"
    elif not path.endswith(VERSION_PATH):
        path += VERSION_PATH
    return f"{parts.scheme}://{parts.netloc}{path}"


def _checked_key(key: Secret, given: str) -> Secret:
    key = Secret(key.reveal().strip())  # a copied key often brings a line break
    if not key.reveal():
        raise ConfigError(
            f"No API key. Set {API_KEY_VARIABLE}, or pass api_key=…; keys are made in the service's Integrations "
            "area under API Keys, or with 'promptlift keys create'."
        )
    if any(not "!" <= char <= "~" for char in key.reveal()):
        raise ConfigError(
            f"The API key in {given} has characters that no key contains (spaces, line breaks or non-ASCII "
            "ones). "
            "Copy it again."
        )
    return key
