"""Models that answer as many requests as a test allows, so that a run goes as far as the test wants on any machine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from support.answering_model import AnsweringModel
from support.judging_model import JudgingModel

if TYPE_CHECKING:
    from support.stub_endpoint import Asked, Say

UNLIMITED = 1_000_000


class _Held:
    """Answers as many requests as it is allowed to; the others hang until more are."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._left = 0
        self._more = threading.Event()

    def allow(self, count: int = UNLIMITED) -> None:
        """Allow some more requests."""
        self._left += count
        self._more.set()
        self._more = threading.Event()

    def hold(self) -> None:
        """Take back what was allowed and not used."""
        self._left = 0

    def __call__(self, asked: Asked) -> Say:
        say: Say = super().__call__(asked)
        self._left -= 1
        if self._left < 0:
            say.hang = self._more
        return say


class HeldModel(_Held, AnsweringModel):
    """Held, and answers every purpose."""


class HeldJudge(_Held, JudgingModel):
    """Held, and answers the question of a judge."""
