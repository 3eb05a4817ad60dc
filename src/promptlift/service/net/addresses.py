"""Permitted addresses: an absolute HTTPS URL without a user, and public IP addresses."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

import httpx

URL_CHARS: Final = 2_048

# Networks that some supported versions of Python consider global, and the address at which every Azure
# machine reaches its host.
_NOT_PUBLIC: Final = tuple(
    map(
        IPv4Network,
        ("0.0.0.0/8", "100.64.0.0/10", "168.63.129.16", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
    )
)
# Global unicast; nothing else of IPv6 is assigned to anybody on the internet.
_UNICAST: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
# Characters of a name in IDNA, or of an address without brackets.
_HOST: Final = re.compile(r"[a-z0-9._:-]+")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)
_LAST_32_BITS: Final = 0xFFFF_FFFF


class UnusableUrl(ValueError):
    """A URL to which no request is sent. The message explains why, as the end of a sentence about it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request.

    Attributes
    ----------
    url
        The normalized URL.
    host
        Host name or IP address, in ASCII and without brackets.
    """

    url: httpx.URL
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: a connection can be reused for the same origin."""
        return (self.url.scheme, self.host, self.port)


@lru_cache(maxsize=256)
def read_url(text: str, *, schemes: tuple[str, ...] = ("https",)) -> Target:
    """Read a user-supplied URL.

    Raises
    ------
    UnusableUrl
        It is not an absolute URL with one of these schemes, or contains a user name or password.
    """
    if len(text) > URL_CHARS:
        raise UnusableUrl(f"must have at most {URL_CHARS} characters")
    if not text.isprintable() or any(character.isspace() for character in text):
        raise UnusableUrl("must not contain spaces or control characters")
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii").rstrip(".").lower()
        parts = urlsplit(text)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise UnusableUrl("is not a URL") from None
    try:
        # Stricter than httpx, which treats 0 as the scheme's default port and reads digits of every script.
        port = parts.port
    except ValueError:
        port = 0
    if url.scheme not in schemes:
        raise UnusableUrl(f"must start with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if not _HOST.fullmatch(host):
        raise UnusableUrl(
            "has no host" if not host else "has a host that is neither a name nor an IP address"
        )
    if url.userinfo:
        raise UnusableUrl("must not contain a user name or password")
    if port == 0:
        raise UnusableUrl("has no usable port")
    port = port or {"https": 443, "http": 80}[url.scheme]
    return Target(url.copy_with(fragment=None), host, port)


def numeric_addresses(host: str) -> list[str]:
    """Return the IP address of a numeric host, in any form that the operating system reads; empty for a name.

    Uses no network, so it returns immediately.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(one[4][0]) for one in found]


def is_public(address: str) -> bool:
    """Return whether an IP address is public, also if it wraps an IPv4 address.

    Examples
    --------
    >>> [is_public(one) for one in ("8.8.8.8", "127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2606:4700::1111")]
    [True, False, False, False, True]
    """
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast and not any(ip in network for network in _NOT_PUBLIC)
    wrapped = _wrapped(ip)
    if not all(is_public(str(one)) for one in wrapped):
        return False
    if ip.ipv4_mapped is not None or ip in _NAT64:
        return True
    return ip in _UNICAST and ip.is_global and not any(ip in network for network in _NOT_PUBLIC_6)


def _wrapped(ip: IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses inside an IPv6 address to which a router or kernel may send packets."""
    found = [one for one in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if one is not None]
    if ip in _NAT64 or (int(ip) >> 32) & _LAST_32_BITS in _ISATAP:
        found.append(IPv4Address(int(ip) & _LAST_32_BITS))
    return found
