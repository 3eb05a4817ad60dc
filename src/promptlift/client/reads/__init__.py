"""Complete tables: pages in order, at the pace of the plan, with details fetched concurrently."""

from __future__ import annotations
