"""The endpoints of the specification, written down by hand: what the table of endpoints is checked against."""

from __future__ import annotations

SPECIFICATION = (
    "GET /prompts",
    "POST /prompts",
    "GET /prompts/{id}",
    "PATCH /prompts/{id}",
    "DELETE /prompts/{id}",
    "GET /prompts/{id}/status",
    "GET /prompts/{id}/insights",
    "GET /agents",
    "POST /agents",
    "GET /agents/{id}",
    "PATCH /agents/{id}",
    "GET /agents/{id}/insights",
    "POST /agents/{id}/insights/regenerate",
    "GET /agents/{id}/step-failures",
    "POST /conversations",
    "GET /conversations",
    "GET /conversations/{id}",
    "GET /conversations/{id}/insights",
    "POST /conversations/{id}/insights/regenerate",
    "POST /optimizations",
    "GET /optimizations",
    "GET /optimizations/{id}",
    "GET /optimizations/{id}/variants",
    "POST /optimizations/{id}/apply",
    "POST /optimizations/{id}/stop",
    "GET /settings",
    "PATCH /settings",
    "POST /settings/sync-context",
    "GET /account",
    "GET /usage",
    "GET /webhooks",
    "POST /webhooks",
    "DELETE /webhooks/{id}",
)
# In the specification, and not built yet.
MISSING = (
    "GET /benchmarks",
    "POST /benchmarks",
    "GET /benchmarks/{id}",
    "POST /benchmarks/bulk",
)
