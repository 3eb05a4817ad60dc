"""Errors of the API: one exception, one body, every code with its status."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from promptlift.service import clock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.exc import DBAPIError

_LOG = logging.getLogger(__name__)

# The specification leaves the status of some codes open; section 4 of the design decides them. unspecified:
# the codes of refusals by HTTP itself (405, 415).
STATUS_OF: dict[str, int] = {
    "VALIDATION_ERROR": 400,
    "INVALID_API_KEY": 401,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "INVALID_STATE": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "LIMIT_EXCEEDED": 429,
    "RATE_LIMIT_EXCEEDED": 429,
    "INTERNAL_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}


class ApiException(Exception):
    """An error that becomes the API's answer."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details) if details else None
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """HTTP status of the answer."""
        return STATUS_OF[self.code]

    def body(self) -> dict[str, object]:
        """Return the error body of the API."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = self.details
        return {"error": error}


def invalid(details: Mapping[str, Any], message: str | None = None) -> ApiException:
    """Return the error for an invalid value; ``details`` maps its dotted path to the problem."""
    names = ", ".join(details)
    return ApiException("VALIDATION_ERROR", message or f"Invalid value: {names}", details=details)


def invalid_state(message: str, *, details: Mapping[str, Any] | None = None) -> ApiException:
    """Return the error for a request that the current state does not allow."""
    return ApiException("INVALID_STATE", message, details=details)


def not_found(kind: str) -> ApiException:
    """Return the error for a resource that does not exist in this account; the message names its kind."""
    return ApiException("NOT_FOUND", f"{kind} not found")


def quota(what: str, *, limit: int, used: int, now: int) -> ApiException:
    """Return the error for a plan quota that is used up until the billing period ends."""
    return ApiException(
        "LIMIT_EXCEEDED",
        f"The plan's limit of {what} is reached",
        details={"limit": limit, "used": used, "resetAt": clock.iso(clock.billing_period(now)[1])},
    )


def full(kind: str, limit: int) -> ApiException:
    """Return the error for exceeding the number of resources of a kind per account."""
    said = f"The account has the maximum of {limit} {kind}; delete one first"
    return invalid_state(said, details={kind: f"at most {limit}"})


def prompt_link(prompt_id: str | None, agent_id: str | None) -> tuple[str, str]:
    """Return the field of a body that links to its prompt, and the prompt's id.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` if it links to none or to two.
    """
    given = {"promptId": prompt_id, "agentId": agent_id}
    links = [(name, value) for name, value in given.items() if value is not None]
    if not links:
        raise invalid({"promptId": "Required field"}, "Required field: promptId (or agentId)")
    if len({value for _, value in links}) > 1:
        raise invalid({"agentId": "must be the same as promptId, or absent"})
    return links[0]


def tokens_used_up(limit: int, *, now: int) -> str:
    """Describe why work that needs a language model waits or ends, and until when."""
    until = clock.iso(clock.billing_period(now)[1])
    return f"The account's limit of {limit} tokens a month is reached; there are new ones from {until}"


def too_large(field: str, message: str) -> ApiException:
    """Return the error for something over a size limit."""
    return ApiException("PAYLOAD_TOO_LARGE", message, details={field: message})


def unavailable(error: DBAPIError) -> ApiException:
    """Return the error for a database that is full, locked or gone.

    All requests log the same line, which is written at most once a second.
    """
    _LOG.error("the database cannot be used: %s", str(error.orig).partition("\n")[0])
    return ApiException(
        "SERVICE_UNAVAILABLE",
        "The service cannot use its database right now; try again later",
    )


def stopping() -> ApiException:
    """Return the error for a request that the service could not finish before it stopped."""
    return ApiException(
        "SERVICE_UNAVAILABLE",
        "The service was stopped before this request was finished; check whether it took effect, and send it again",
    )
