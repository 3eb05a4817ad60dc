"""The Prompt Optimization Service, whole, in one process or many."""

from __future__ import annotations
