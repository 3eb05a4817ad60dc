"""A workspace that becomes another one while something holds it: a revoked key, a network that is gone and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.workspace import Workspace


class SwitchedWorkspace:
    """Answers as the workspace that it was switched to last."""

    def __init__(self, lift: Workspace) -> None:
        self._now = lift
        self._after: dict[str, Workspace] = {}

    def to(self, lift: Workspace) -> None:
        """Switch to another workspace."""
        self._now = lift

    def after(self, name: str, lift: Workspace) -> None:
        """Switch as soon as a method of this name has returned."""
        self._after[name] = lift

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._now, name)
        if name not in self._after:
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            answer = found(*arguments, **options)
            self.to(self._after.pop(name))
            return answer

        return call
