"""Topics that are found in the logs, and why conversations fail, in the logs' own words."""

from __future__ import annotations

from promptlift.analysis.atlas.topics import Atlas, atlas
from promptlift.analysis.atlas.why import why

__all__ = ["Atlas", "atlas", "why"]
