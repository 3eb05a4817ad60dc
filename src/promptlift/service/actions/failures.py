"""What the API answers when a request fails."""

from __future__ import annotations

import logging

from promptlift.service.errors import ApiException, unavailable
from promptlift.service.store.database import is_full_or_locked
from promptlift.service.store.errors import DBAPIError

_LOG = logging.getLogger(__name__)


def refusal_of(error: Exception, failed: str) -> ApiException:
    """Return the error of the API for an exception; an unexpected one is logged as ``failed``."""
    if isinstance(error, ApiException):
        return error
    if isinstance(error, DBAPIError) and is_full_or_locked(error):
        return unavailable(error)
    _LOG.error(failed, exc_info=error)
    return ApiException("INTERNAL_ERROR", "The service failed; its log says why")
