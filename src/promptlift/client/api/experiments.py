"""Endpoints of experiments: versions of a prompt side by side on real users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.api.group import Group, given
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from promptlift.schema.experiments import LiveExperiment


class Experiments(Group):
    """Experiments, which `Prompts.experiment` starts. The embedded service supports them; others may not."""

    def get(self, experiment_id: str) -> LiveExperiment:
        """Return an experiment with its results."""
        return self._send(endpoints.EXPERIMENTS_GET, experiment_id)

    def stop(self, experiment_id: str, *, reason: str | None = None) -> LiveExperiment:
        """Stop an experiment: every unit gets the current version."""
        return self._send(endpoints.EXPERIMENTS_STOP, experiment_id, **given(reason=reason))

    def apply(self, experiment_id: str, *, arm: int | None = None, note: str | None = None) -> LiveExperiment:
        """Make a version of an experiment current, by default the one that is better; this ends the experiment."""
        return self._send(endpoints.EXPERIMENTS_APPLY, experiment_id, **given(arm=arm, note=note))
