"""Whole tables: pages in order, at the pace of the plan, with details fetched side by side."""

from __future__ import annotations
