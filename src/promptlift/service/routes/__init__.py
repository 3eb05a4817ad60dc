"""The endpoints, one module a resource: read the request, call an action, write the answer."""

from __future__ import annotations
