"""The HTTP client: configuration, a typed method for every endpoint, complete reads of lists, and logging in bulk.

Only this package (and the service's own outgoing requests) imports httpx.
"""

from __future__ import annotations

from promptlift.client.api.client import Client
from promptlift.client.config import ClientConfig, UnencryptedConnection, configure
from promptlift.client.secret import Secret

__all__ = ["Client", "ClientConfig", "Secret", "UnencryptedConnection", "configure"]
