"""The service's database: tables, migrations, and one module of queries per resource."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError as DBAPIError
from sqlalchemy.exc import IntegrityError as IntegrityError
from sqlalchemy.exc import SQLAlchemyError as SQLAlchemyError
