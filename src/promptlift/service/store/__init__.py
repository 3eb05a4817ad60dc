"""The service's database: tables, migrations, and one module of queries a resource."""

from __future__ import annotations
