"""An object store that speaks the protocol of S3, on loopback: moto's server."""

from __future__ import annotations

import logging
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_ACCESS_KEY = "test"
_SECRET_KEY = "test-secret"


@dataclass(frozen=True)
class ObjectStore:
    """A running store.

    Attributes
    ----------
    endpoint_url
        Its address.
    storage_options
        What fsspec needs to reach it: ``fsspec.filesystem("s3", **storage_options)``.
    """

    endpoint_url: str

    @property
    def storage_options(self) -> dict[str, Any]:
        return {"key": _ACCESS_KEY, "secret": _SECRET_KEY, "endpoint_url": self.endpoint_url}

    def new_bucket(self) -> str:
        """Make an empty bucket and return its address, as ``s3://name``."""
        import fsspec

        name = f"test-{uuid.uuid4().hex[:12]}"
        fsspec.filesystem("s3", **self.storage_options).mkdir(name)
        return f"s3://{name}"


@contextmanager
def running_object_store() -> Iterator[ObjectStore]:
    """Run a store; the test is skipped where moto or s3fs is not installed."""
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    server = pytest.importorskip("moto.server", reason="moto, which the extra test brings, is not installed")
    # It would print a line for each request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        yield ObjectStore(f"http://{host}:{port}")
    finally:
        running.stop()
