"""Open a connection to the endpoint: address, proxy, TLS."""

from __future__ import annotations

import base64
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from promptlift.service.llm.settings import LlmSettings

__all__ = ["NoAnswer", "Route", "dial"]

_PROXY_ANSWER_BYTES: Final = 16 * 1024
_PATH_SAFE: Final = "/:@!$&'()*+,;=~%"


class NoAnswer(Exception):
    """No whole answer came; an outcome inside this room, never seen outside.

    The message says why, without the address or the key.
    """


@dataclass(frozen=True)
class Route:
    """The way to an endpoint.

    Attributes
    ----------
    host, port
        Of the endpoint.
    target
        What stands before ``/chat/completions`` in a request line: the path, with a plain proxy the whole address.
    netloc
        For the ``Host`` header.
    tls
        ``None`` for plain HTTP.
    proxy
        Host and port of the proxy, ``None`` to go straight.
    proxy_authorization
        Value of that header, ``None`` when the proxy asks for none. Never shown.
    """

    host: str
    port: int
    target: str
    netloc: str
    tls: ssl.SSLContext | None
    proxy: tuple[str, int] | None
    proxy_authorization: str | None

    @classmethod
    def to(cls, settings: LlmSettings) -> Route:
        """Find the way to the endpoint, with the proxy that the environment names.

        Raises
        ------
        NoAnswer
            The proxy's address cannot be used.
        """
        parts = urlsplit(settings.base_url)
        host, path = parts.hostname or "", quote(parts.path, safe=_PATH_SAFE)
        secure = parts.scheme == "https"
        proxy, authorization = (None, None) if settings.on_this_machine else _proxy(parts.scheme, host)
        name = host if host.isascii() else host.encode("idna").decode()
        shown = f"[{name}]" if ":" in name else name
        netloc = shown if parts.port is None else f"{shown}:{parts.port}"
        return cls(
            host=name,
            port=parts.port or (443 if secure else 80),
            target=f"http://{netloc}{path}" if proxy is not None and not secure else path,
            netloc=netloc,
            tls=_trust() if secure else None,
            proxy=proxy,
            proxy_authorization=authorization,
        )

    def __repr__(self) -> str:
        return f"Route({self.netloc!r})"


def dial(route: Route, seconds: float) -> socket.socket:
    """Open a connection.

    Raises
    ------
    NoAnswer
        Says why there is none.
    """
    line: socket.socket | None = None
    try:
        line = socket.create_connection(route.proxy or (route.host, route.port), timeout=seconds)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if route.tls is None:
            return line
        if route.proxy is not None:
            _tunnel(line, route)
        return route.tls.wrap_socket(line, server_hostname=route.host)
    except TimeoutError:
        problem = f"no connection within {seconds:g} seconds"
    except ssl.SSLCertVerificationError as error:
        problem = f"its certificate is not trusted: {error.verify_message}"
    except ssl.SSLError as error:
        problem = f"no secure connection ({error.reason or type(error).__name__})"
    except (OSError, UnicodeError):
        problem = "it cannot be reached"
    except NoAnswer as error:
        problem = str(error)
    if line is not None:
        line.close()
    raise NoAnswer(problem)


def _tunnel(line: socket.socket, route: Route) -> None:
    """Have the proxy connect this line to the endpoint."""
    there = f"[{route.host}]:{route.port}" if ":" in route.host else f"{route.host}:{route.port}"
    wish = f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n"
    if route.proxy_authorization is not None:
        wish += f"Proxy-Authorization: {route.proxy_authorization}\r\n"
    line.sendall(f"{wish}\r\n".encode("ascii"))
    answer = b""
    while b"\r\n\r\n" not in answer:
        # One byte too much would be the endpoint's first: the handshake is ours to begin, so none comes.
        piece = line.recv(4096)
        answer += piece
        if not piece or len(answer) > _PROXY_ANSWER_BYTES:
            raise NoAnswer("the proxy did not answer")
    words = answer.split(b"\r\n", 1)[0].split(b" ")
    status = words[1].decode("ascii", "replace")[:3] if len(words) > 1 else ""
    if not status.startswith("2"):
        raise NoAnswer(f"the proxy refused the connection with {status or 'no status'}")


def _proxy(scheme: str, host: str) -> tuple[tuple[str, int] | None, str | None]:
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(host):
        return None, None
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        port = parts.port or 80
    except ValueError:
        raise NoAnswer("the proxy that the environment names has no usable address") from None
    if parts.scheme != "http" or not parts.hostname:
        raise NoAnswer("the proxy that the environment names must be one that starts with http://")
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return (parts.hostname, port), authorization


def _trust() -> ssl.SSLContext:
    # The same certificates as everywhere in this package, those of SSL_CERT_FILE included. Loaded only for HTTPS.
    import httpx  # noqa: PLC0415

    return httpx.create_ssl_context()
