"""The endpoints, one module for each resource: the action of every row in the table of endpoints."""

from __future__ import annotations
