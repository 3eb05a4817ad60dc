"""One typed method for every endpoint, grouped by resource."""

from __future__ import annotations
