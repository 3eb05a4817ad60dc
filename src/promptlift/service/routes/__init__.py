"""The endpoints, one module per resource, with the action of every row in the table of endpoints."""

from __future__ import annotations
