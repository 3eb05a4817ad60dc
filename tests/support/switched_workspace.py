"""A workspace that becomes another one while something holds it: a revoked key, a network that is gone and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.workspace import Workspace


class SwitchedWorkspace:
    """A workspace whose requests are sent by the one that it was switched to last."""

    def __init__(self, lift: Workspace) -> None:
        self._lift = lift
        self._send = lift.client.transport.send

    def to(self, lift: Workspace) -> None:
        """Switch to another workspace, or back to the own one."""
        send = self._send if lift is self._lift else lift.client.transport.send
        self._lift.client.transport.send = send

    def after(self, name: str, lift: Workspace) -> None:
        """Switch as soon as a request whose path ends with this name is answered."""

        def send(call: Any, *more: Any, **named: Any) -> Any:
            answer = self._send(call, *more, **named)
            if call.label.endswith(f"/{name}"):
                self.to(lift)
            return answer

        self._lift.client.transport.send = send

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lift, name)
