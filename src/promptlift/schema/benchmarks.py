"""Benchmarks. The specification shows their paths and nothing else."""

from __future__ import annotations

from typing import Literal

from promptlift.schema.model import ApiModel, RequestModel, UtcTime

# unspecified: every field of a benchmark, and the actions of the bulk endpoint but delete.
BulkAction = Literal["delete"]


class Benchmark(ApiModel):
    """A benchmark; all fields that a service sends are kept."""

    id: str
    name: str | None = None
    status: str | None = None
    created_at: UtcTime | None = None


class BulkRequest(RequestModel):
    """Body of ``POST /benchmarks/bulk``."""

    action: BulkAction
    job_ids: list[str]
