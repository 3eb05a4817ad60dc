"""What the database raises, for the rooms that catch it."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

__all__ = ["DBAPIError", "IntegrityError", "SQLAlchemyError"]
