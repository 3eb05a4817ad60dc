"""Explore how LLM prompts perform, in a notebook."""

from __future__ import annotations

__version__ = "0.1.0"
