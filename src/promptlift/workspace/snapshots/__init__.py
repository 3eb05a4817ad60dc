"""Snapshots: pulled from a service, brought up to date, and read in its place."""

from __future__ import annotations
