"""What the database raises, for those who catch it."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

__all__ = ["DBAPIError", "IntegrityError", "SQLAlchemyError"]
