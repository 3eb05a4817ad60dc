"""What the service does, one module a resource; every change is one transaction."""

from __future__ import annotations
