"""Many conversations into the service: each once, with an account of what became of it."""

from __future__ import annotations
