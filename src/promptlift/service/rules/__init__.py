"""Decisions of the service as pure functions."""

from __future__ import annotations
