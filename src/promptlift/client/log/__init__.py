"""Bulk logging of conversations: each once, with its outcome."""

from __future__ import annotations
