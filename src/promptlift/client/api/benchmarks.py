"""Endpoints of benchmarks and scenario sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from promptlift.schema.benchmarks import Benchmark, BenchmarkConversation, BulkAnswer, ScenarioSet
    from promptlift.schema.model import Page


class Benchmarks(Group):
    """Benchmarks: fixed scenarios over prompts, versions, variants and models.

    The specification has ``list``, ``create``, ``get`` and ``bulk``, but not their fields, which are the
    embedded service's.
    """

    def list(
        self, *, status: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Page[Benchmark]:
        """Return one page of benchmarks, newest first."""
        return self._send(endpoints.BENCHMARKS_LIST, status=status, limit=limit, offset=offset)

    def create(self, *, arms: Sequence[dict[str, Any]], **fields: Any) -> Benchmark:
        """Start a benchmark. The request is never repeated after a failure.

        An arm is a dict with prompt_id and optionally name, version_id, variant_id and llm_model; the first
        is the baseline. ``fields`` may be name, scenario_set (a dict), objective, max_turns, prices and seed.
        ``Workspace.benchmark`` also waits for the end.
        """
        return self._send(endpoints.BENCHMARKS_CREATE, arms=[*arms], **fields)

    def get(
        self,
        benchmark_id: str,
        *,
        reference: int | str | None = None,
        margin: float | None = None,
        level: float | None = None,
    ) -> Benchmark:
        """Return one benchmark with its results so far, compared with an arm (its number) or with the ``"best"``."""
        return self._send(
            endpoints.BENCHMARKS_GET, benchmark_id, reference=reference, margin=margin, level=level
        )

    def bulk(self, *, job_ids: Sequence[str], action: str = "delete") -> BulkAnswer:
        """Delete benchmarks with their conversations; running ones are stopped. Their scenario sets stay."""
        return self._send(endpoints.BENCHMARKS_BULK, action=action, job_ids=[*job_ids])

    def conversations(
        self,
        benchmark_id: str,
        *,
        arm: int | None = None,
        task_completed: bool | None = None,
        include_content: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[BenchmarkConversation]:
        """Return one page of the simulated conversations. The embedded service supports this; others may not."""
        return self._send(
            endpoints.BENCHMARKS_CONVERSATIONS,
            benchmark_id,
            arm=arm,
            task_completed=task_completed,
            include_content=include_content,
            limit=limit,
            offset=offset,
        )

    def stop(self, benchmark_id: str, *, reason: str | None = None) -> Benchmark:
        """Stop a benchmark; its measurements stay. Only the embedded service supports this."""
        return self._send(endpoints.BENCHMARKS_STOP, benchmark_id, **given(reason=reason))

    def resume(self, benchmark_id: str) -> Benchmark:
        """Resume a stopped or failed benchmark. Only the embedded service supports this."""
        return self._send(endpoints.BENCHMARKS_RESUME, benchmark_id)


class ScenarioSets(Group):
    """Scenario sets, which benchmarks share. The embedded service supports them; others may not."""

    def list(self, *, limit: int | None = None, offset: int | None = None) -> Page[ScenarioSet]:
        """Return one page of the versions of all sets, newest first."""
        return self._send(endpoints.SCENARIO_SETS_LIST, limit=limit, offset=offset)

    def get(self, scenario_set_id: str, *, version: int | None = None) -> ScenarioSet:
        """Return a set with its scenarios, by default the newest version."""
        return self._send(endpoints.SCENARIO_SETS_GET, scenario_set_id, version=version)
