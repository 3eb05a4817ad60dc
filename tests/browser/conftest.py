"""The browser and JupyterLab for the tests of this folder."""

from __future__ import annotations

from support.jupyter_lab import chromium, lab

__all__ = ["chromium", "lab"]
