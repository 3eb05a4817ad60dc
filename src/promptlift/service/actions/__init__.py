"""The actions of the service, one module per resource; every change is one transaction."""

from __future__ import annotations
