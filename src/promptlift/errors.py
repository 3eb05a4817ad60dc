"""All errors that promptlift raises.

::

    PromptliftError
    ├── ConfigError                 no key, bad address: raised before any request
    │   └── MissingExtra            an optional dependency is not installed; names the extra
    ├── TranscriptError             (also ValueError) content cannot be read; the message locates it
    │   └── EventError              the body of a delivery is not an event
    │       ├── InvalidSignature    it was not signed with this secret
    │       └── ReplayedEvent       .event_id; it is too old, or was received before
    ├── FrameError                  (also ValueError) names the missing and the present columns
    ├── IncompleteError             .fetched; fewer rows than the service has
    ├── ServiceStartError           the embedded service did not start
    ├── SnapshotError               a snapshot cannot be used: another account, another writer, too new
    │   ├── SnapshotBusy            another process or thread is writing it
    │   └── SnapshotDamaged         .problems; files are missing, truncated or changed
    └── ApiError                    .status .code .details .request
        ├── ConnectionFailed        no answer from the service
        ├── UnexpectedResponse      an answer that is not the API's
        ├── ValidationError         .details by dotted path
        ├── NotFound · InvalidState · InvalidApiKey
        ├── LimitExceeded           .limit .used .reset_at; a plan quota, never retried
        ├── ContentTooLarge         413
        ├── RateLimited             .retry_after; requests per minute, retried
        └── ServerError             5xx, retried
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ApiError",
    "ConfigError",
    "ConnectionFailed",
    "ContentTooLarge",
    "EventError",
    "FrameError",
    "IncompleteError",
    "InvalidApiKey",
    "InvalidSignature",
    "InvalidState",
    "LimitExceeded",
    "MissingExtra",
    "NotFound",
    "PromptliftError",
    "RateLimited",
    "ReplayedEvent",
    "ServerError",
    "ServiceStartError",
    "SnapshotBusy",
    "SnapshotDamaged",
    "SnapshotError",
    "TranscriptError",
    "UnexpectedResponse",
    "ValidationError",
    "from_response",
]


class PromptliftError(Exception):
    """Base of every error that promptlift raises."""


class ConfigError(PromptliftError):
    """The settings do not allow a request: no key, a bad address, a missing file."""


class MissingExtra(ConfigError):
    """An optional dependency is not installed.

    Parameters
    ----------
    what
        The user's intention, as a noun phrase.
    extra
        Name of the extra with the dependency.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install \"promptlift[{extra}]\"")
        self.extra = extra


class TranscriptError(PromptliftError, ValueError):
    """A transcript cannot be read. The message explains where and why."""


class EventError(TranscriptError):
    """The body of a webhook's delivery cannot be used as an event. The message explains why."""


class InvalidSignature(EventError):
    """The signature does not belong to the body and the secret: do not use the body."""


class ReplayedEvent(EventError):
    """The signature is valid, but the event was received before, or is too old.

    Attributes
    ----------
    event_id
        The event.
    """

    def __init__(self, message: str, *, event_id: str) -> None:
        super().__init__(message)
        self.event_id = event_id


class FrameError(PromptliftError, ValueError):
    """A table lacks columns that a function needs.

    Parameters
    ----------
    missing
        Columns that are needed but missing.
    present
        Columns that the table has.
    hint
        What to do next, as a sentence.
    """

    def __init__(self, missing: Sequence[str], present: Sequence[str], *, hint: str = "") -> None:
        message = f"The table has no column {', '.join(missing)}. It has: {', '.join(present) or 'none'}."
        super().__init__(f"{message} {hint}".strip())
        self.missing = tuple(missing)
        self.present = tuple(present)


class IncompleteError(PromptliftError):
    """A read ended before all rows had arrived.

    Attributes
    ----------
    fetched
        The rows read until then, in the type of the full answer.
    """

    def __init__(self, message: str, *, fetched: Any) -> None:
        super().__init__(message)
        self.fetched = fetched


class ServiceStartError(PromptliftError):
    """The embedded service did not start. The message explains why and what to do."""


class SnapshotError(PromptliftError):
    """A snapshot cannot be read or written. The message explains why and what to do."""


class SnapshotBusy(SnapshotError):
    """Another process, or another thread of this one, is writing the snapshot. The message names it."""


class SnapshotDamaged(SnapshotError):
    """Files of a snapshot are missing, truncated or changed.

    Attributes
    ----------
    problems
        Problems by path of each such file, relative to the snapshot.
    """

    def __init__(self, message: str, *, problems: Mapping[str, str]) -> None:
        super().__init__(message)
        self.problems = dict(problems)


class ApiError(PromptliftError):
    """The service refused a request, or was unreachable.

    Attributes
    ----------
    status
        HTTP status, ``None`` without an answer.
    code
        Error code of the body, such as ``VALIDATION_ERROR``; ``None`` if there was none.
    details
        Field name or dotted path to message, or limit data. Empty if the service sent none.
    request
        Method and path of the request, without query values and without the key.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        request: str | None = None,
    ) -> None:
        self.message = message
        self.status = status
        self.code = code
        self.details: dict[str, Any] = dict(details or {})
        self.request = request
        super().__init__(message)

    def __str__(self) -> str:
        parts = [self.message]
        if self.details:
            parts.append("; ".join(f"{name}: {text}" for name, text in self.details.items()))
        where = ", ".join(
            part
            for part in (self.request, f"HTTP {self.status}" if self.status else None, self.code)
            if part is not None
        )
        return " - ".join(parts) + (f" ({where})" if where else "")


class ConnectionFailed(ApiError):
    """No answer: the address is wrong, or the service or the network is down."""


class UnexpectedResponse(ApiError):
    """The answer is not one of the API's: it is not JSON, or lacks promised fields."""


class ValidationError(ApiError):
    """The service refused a value; ``details`` identifies it by dotted path."""


class NotFound(ApiError):
    """The prompt, conversation, optimization or webhook does not exist for this key."""


class InvalidState(ApiError):
    """The resource is not in a state that allows this, such as apply before completion."""


class InvalidApiKey(ApiError):
    """The service does not know the API key."""


class LimitExceeded(ApiError):
    """A plan quota is used up. It resets with the next period, so a retry does not help.

    Attributes
    ----------
    limit, used
        The quota and its usage; ``None`` if the service did not report them.
    reset_at
        ISO 8601 time of the next period, or ``None``.
    """

    @property
    def limit(self) -> int | None:
        """The quota."""
        return self.details.get("limit")

    @property
    def used(self) -> int | None:
        """Usage of the quota."""
        return self.details.get("used")

    @property
    def reset_at(self) -> str | None:
        """ISO 8601 time of the next period."""
        return self.details.get("resetAt")


class ContentTooLarge(ApiError):
    """A conversation is over a content limit (512 KB, 500 messages, 100 KB per message)."""


class RateLimited(ApiError):
    """Too many requests per minute.

    Attributes
    ----------
    retry_after
        Seconds to wait according to the service, or ``None``.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.retry_after = retry_after


class ServerError(ApiError):
    """The service failed (5xx)."""


# The specification fixes codes, not every status: the code decides first.
_BY_CODE: dict[str, type[ApiError]] = {
    "VALIDATION_ERROR": ValidationError,
    "NOT_FOUND": NotFound,
    "INVALID_STATE": InvalidState,
    "INVALID_API_KEY": InvalidApiKey,
    "LIMIT_EXCEEDED": LimitExceeded,
    "PAYLOAD_TOO_LARGE": ContentTooLarge,
    "RATE_LIMIT_EXCEEDED": RateLimited,
}
_BY_STATUS: dict[int, type[ApiError]] = {
    **dict.fromkeys((400, 422), ValidationError),
    **dict.fromkeys((401, 403), InvalidApiKey),
    404: NotFound,
    409: InvalidState,
    413: ContentTooLarge,
    429: RateLimited,
}


def from_response(
    status: int,
    body: Any,
    *,
    request: str | None = None,
    retry_after: float | None = None,
) -> ApiError:
    """Make the error for an answer of the service.

    Parameters
    ----------
    status
        HTTP status of the answer.
    body
        Decoded JSON body, or ``None`` if it was not JSON.
    request
        Method and path, for the message.
    retry_after
        Seconds of the ``Retry-After`` header, if there was one.
    """
    error = body.get("error") if isinstance(body, dict) else None
    known = error if isinstance(error, dict) else {}
    code = known.get("code") if isinstance(known.get("code"), str) else None
    details = known.get("details") if isinstance(known.get("details"), dict) else None
    kind = _BY_CODE.get(code or "") or _BY_STATUS.get(status)
    if kind is None:
        kind = ServerError if status >= 500 else UnexpectedResponse if not error else ApiError
    message = known.get("message")
    if not isinstance(message, str) or not message:
        message = f"The service answered {status} without an error body of the API"
    fields: dict[str, Any] = {"status": status, "code": code, "details": details, "request": request}
    if kind is RateLimited:
        return RateLimited(message, retry_after=retry_after, **fields)
    return kind(message, **fields)
