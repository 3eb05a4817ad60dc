"""The plainest client: one request a connection, so that a dead service is only a failed request."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from support.service_process import ServiceProcess

# What a client sees of a service that was killed: no connection, a connection that ends, an answer that is cut off.
UNANSWERED = (OSError, http.client.HTTPException, json.JSONDecodeError)


@dataclass
class PlainClient:
    """Requests to a service that may be killed at any moment."""

    service: ServiceProcess
    # When repeated requests give up, on the monotonic clock.
    deadline: float = field(default_factory=lambda: time.monotonic() + 500)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request once; gives the status and the decoded answer."""
        connection = self._begin(method, path, body)
        try:
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def send_and_leave(self, method: str, path: str, body: Any = None) -> None:
        """Send a request and leave before its answer."""
        self._begin(method, path, body).close()

    def send_until_answered(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that may be repeated until it is answered; gives the answer."""
        while time.monotonic() < self.deadline:
            try:
                status, answer = self.send(method, path, body)
            except UNANSWERED:
                time.sleep(0.02)
                continue
            assert status in (200, 201), answer
            return answer
        raise AssertionError(f"{method} {path} was never answered")

    def all_pages(self, path: str) -> list[Any]:
        """Read every page of a list."""
        found: list[Any] = []
        joint = "&" if "?" in path else "?"
        while True:
            page = self.send_until_answered("GET", f"{path}{joint}limit=100&offset={len(found)}")
            found += page["data"]
            if len(found) >= page["pagination"]["total"] or not page["data"]:
                return found

    def _begin(self, method: str, path: str, body: Any) -> http.client.HTTPConnection:
        address = urlsplit(self.service.base_url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.service.key}", "Content-Type": "application/json"}
        try:
            connection.request(method, address.path + path, body and json.dumps(body), headers)
        except BaseException:
            connection.close()
            raise
        return connection
