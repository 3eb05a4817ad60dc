"""A payload of every event kind as an example: what a test of a webhook sends, and what test vectors are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from promptlift.schema.events import EventKind

_TIME: Final = "2026-01-31T09:30:00.000Z"
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
        "results": {"winner": "var_example", "improvementPercentage": 12.5},
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
}
