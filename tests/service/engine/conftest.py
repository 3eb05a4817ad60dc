from __future__ import annotations

from service.llm.conftest import talk

__all__ = ["talk"]
