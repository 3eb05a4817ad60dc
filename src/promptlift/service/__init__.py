"""The complete Prompt Optimization Service, in one process or many."""

from __future__ import annotations
