"""Webhooks, their deliveries and signatures, and example events for tests."""

import hashlib
import hmac
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from promptlift.errors import ConfigError
from promptlift.schema.columns import Column
from promptlift.schema.events import EVENT_KINDS, EventKind
from promptlift.schema.model import ApiModel, LongText, RequestModel, UtcTime

WebhookStatus = Literal["active", "failing"]
DeliveryStatus = Literal["pending", "delivered", "failed"]


class Webhook(ApiModel):
    """A subscribed address."""

    id: Annotated[str, Column(name="webhook_id")]
    """The webhook's id."""
    url: Annotated[str, Column()]
    """The address to which events are sent."""
    events: Annotated[list[str], Column()]
    """Subscribed event kinds."""
    description: Annotated[str | None, Column()] = None
    """Its purpose."""
    status: Annotated[str, Column(categories=get_args(WebhookStatus))]
    """``active``, or ``failing`` after five failed attempts: paused until it is resumed."""
    secret: str | None = Field(default=None, repr=False)
    """Only in the answer of the create request."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When it was created."""


class WebhookCreate(RequestModel):
    """Body of ``POST /webhooks``."""

    url: str
    events: Annotated[list[EventKind], Field(min_length=1)]
    description: LongText | None = None


class Delivery(ApiModel):
    """The delivery of one event to one webhook. Ours."""

    id: Annotated[str, Column(name="delivery_id")]
    """The delivery's id."""
    event_id: Annotated[str, Column()]
    """The event; receivers see this id."""
    event_type: Annotated[str, Column(categories=EVENT_KINDS)]
    """Kind of the event."""
    status: Annotated[str, Column(categories=get_args(DeliveryStatus))]
    """``pending``, ``delivered``, or ``failed`` after the last attempt."""
    attempts: Annotated[int, Column()]
    """Number of attempts made."""
    next_attempt_at: Annotated[UtcTime | None, Column()] = None
    """When the next attempt is due; none if delivered, failed or paused."""
    attempted_at: Annotated[UtcTime | None, Column()] = None
    """When the last attempt ended."""
    status_code: Annotated[int | None, Column()] = None
    """HTTP status of the last answer."""
    problem: Annotated[str | None, Column()] = None
    """Why the last attempt failed."""
    delivered_at: Annotated[UtcTime | None, Column()] = None
    """When the receiver accepted it."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the event happened."""


class WebhookTest(ApiModel):
    """Answer of ``POST /webhooks/:id/test``. Ours."""

    success: bool
    """Whether the receiver answered with 2xx."""
    event_id: str
    """Id of the sent event."""
    status_code: int | None = None
    """HTTP status of the answer."""
    problem: str | None = None
    """Why it failed."""
    duration_ms: int
    """Milliseconds until the answer, or until giving up."""


_TIME: Final = "2026-01-31T09:30:00.000Z"
_EXPECTED: Final = {"expectedPercentage": 9.5, "expectedPercentageLow": 3.0, "expectedPercentageHigh": 16.0}
_DEPLOYMENT: Final[dict[str, Any]] = {
    "agentId": "prm_example",
    "agentName": "Support assistant",
    "verificationStatus": "verified",
    "reductionPercent": 62.5,
    "postFixConversationCount": 40,
    "preFixConversationCount": 40,
    "issues": [
        {"issueId": "iss_example", "title": "Refund refused", "beforeFailCount": 8, "afterFailCount": 3}
    ],
    "answerComparison": {"before": "I cannot help with that.", "after": "Your refund is on its way."},
    **_EXPECTED,
}


def _deployment(status: str, **changes: Any) -> dict[str, Any]:
    return {**_DEPLOYMENT, "verificationStatus": status, **changes}


SAMPLES: Final[dict[EventKind, dict[str, Any]]] = {
    "prompt.updated": {
        "promptId": "prm_example",
        "promptName": "Support assistant",
        "updateType": "manual",
        "appliedAt": _TIME,
    },
    "prompt.deleted": {"promptId": "prm_example", "deletedAt": _TIME},
    "optimization.started": {
        "optimizationId": "opt_example",
        "promptId": "prm_example",
        "status": "running",
        "settings": {"mode": "validation", "variantCount": 3},
        "startedAt": _TIME,
    },
    "optimization.completed": {
        "optimizationId": "opt_example",
        "promptId": "prm_example",
        "results": {"winner": "var_example", "improvementPercentage": 12.5, **_EXPECTED},
        "duration": 61.5,
        "completedAt": _TIME,
    },
    "optimization.stopped": {
        "optimizationId": "opt_example",
        "promptId": "prm_example",
        "reason": "enough is known",
        "stoppedAt": _TIME,
    },
    "regression_test.completed": {
        "optimizationId": "opt_example",
        "promptId": "prm_example",
        "variantId": "var_example",
        "passed": True,
        "summary": {"total": 1, "passed": 1, "regressed": 0},
        "scenarios": [{"name": "Asks for a refund", "passed": True, "delta": 4.5}],
        **_EXPECTED,
    },
    "insights.generated": {
        "conversationId": "cnv_example",
        "promptId": "prm_example",
        "insightsId": "ins_example",
        "summary": "The customer asked for a refund – and got it.",
        "sentiment": "positive",
    },
    "conversation.created": {
        "conversationId": "cnv_example",
        "promptId": "prm_example",
        "status": "completed",
        "createdAt": _TIME,
    },
    "deployment.verified": _DEPLOYMENT,
    "deployment.not_fixed": _deployment("not_fixed", reductionPercent=12.5),
    "deployment.regressed": _deployment("regressed", reductionPercent=-25.0),
    "deployment.confounded": {
        name: value for name, value in _deployment("confounded").items() if name != "reductionPercent"
    },
    "quality.dropped": {
        "promptId": "prm_example",
        "promptName": "Support assistant",
        "alertBelow": 0.8,
        "completionRate": 0.65,
        "conversations": 120,
        "since": "2026-01-24T00:00:00.000Z",
        "basis": "outcome",
    },
}


HEADER = "X-Service-Signature"


def sign(body: bytes, secret: str) -> str:
    """Compute the lowercase hexadecimal HMAC-SHA256 of a raw body.

    Raises
    ------
    ConfigError
        The secret is empty: anybody could compute the signature.
    """
    check_secret(secret)
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def verify(body: bytes, signature: object, secret: str) -> bool:
    """Check in constant time whether a signature belongs to a raw body.

    Raises
    ------
    ConfigError
        The secret is empty.
    """
    expected = sign(body, secret).encode()
    return isinstance(signature, str) and hmac.compare_digest(expected, signature.encode("utf-8", "replace"))


def check_secret(secret: object) -> None:
    """Refuse an invalid secret of a webhook.

    Raises
    ------
    ConfigError
        It is empty, consists only of white space and invisible characters, or is not text.
    """
    if not isinstance(secret, str) or not any(one.isprintable() and not one.isspace() for one in secret):
        raise ConfigError(
            "The webhook's secret is empty or not text: pass the one that the create request returned, and "
            "check that its variable or file is set"
        )
