"""Every number fixed by the specification, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# unspecified: whether KB is 1,000 or 1,024 bytes. 1,024 refuses nothing that the other reading allows.
KB: Final = 1024

CONTENT_BYTES: Final = 512 * KB
MESSAGE_BYTES: Final = 100 * KB
MESSAGES: Final = 500

IDEMPOTENCY_HOURS: Final = 24

LIST_LIMIT_MAX: Final = 100
# unspecified: the most conversations of a page. Without their content, as many as a reader of all of them may want.
CONVERSATIONS_LIMIT_MAX: Final = 1_000
LIST_LIMIT_DEFAULT: Final = 20
OPTIMIZATIONS_LIMIT_DEFAULT: Final = 10

InsightsDays = Literal["7", "30", "90", "all"]
INSIGHTS_DAYS_DEFAULT: Final = "30"
STEP_FAILURE_DAYS: Final = 30

VARIANTS_MIN: Final = 1
VARIANTS_MAX: Final = 5
VARIANTS_DEFAULT: Final = 3
# Passes after a win that only measure how large the lift is.
VERIFICATION_PASSES_DEFAULT: Final = 4
VERIFICATION_PASSES_MAX: Final = 12
# Whether tools are simulated by default.
SIMULATE_TOOLS_DEFAULT: Final = True

TEMPERATURE_MIN: Final = 0.0
TEMPERATURE_MAX: Final = 2.0

CONCURRENT_OPTIMIZATIONS: Final = 10

WEBHOOK_ATTEMPTS: Final = 5
# Retry policy: the delay before attempts 1 to 5, in seconds.
WEBHOOK_DELAYS_SECONDS: Final = (0, 60, 300, 1800, 7200)

# unspecified: sizes of the other texts. Wide enough for real use, bounded before they are parsed. JSON may
# encode every byte of a text as six (``\\u0041``), and texts are measured after decoding.
BODY_BYTES: Final = 6 * CONTENT_BYTES + 512 * KB
# Spans come in batches, each with the whole history of its conversation.
OTLP_BODY_BYTES: Final = 16 * 1024 * KB
# Conversations per request, and their bytes: one transaction, for which others wait.
BULK_ROWS: Final = 500
BULK_BODY_BYTES: Final = 16 * 1024 * KB
JSON_DEPTH: Final = 64
NAME_CHARS: Final = 200
DESCRIPTION_CHARS: Final = 10_000
PROMPT_CONTENT_BYTES: Final = 512 * KB
TAGS: Final = 50
TAG_CHARS: Final = 100
KEY_CHARS: Final = 255
# With account and prompt it must fit into an entry of a database index.
SOURCE_ID_CHARS: Final = 500
LOOKUP_IDS: Final = 500
METADATA_KEYS: Final = 64
METADATA_KEY_CHARS: Final = 64
METADATA_TEXT_CHARS: Final = 500
# Counts that every JSON reader represents exactly.
COUNT_MAX: Final = 2**53
MAX_TOKENS_MAX: Final = 1_000_000

PlanName = Literal["free", "pro", "enterprise"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Limits of one plan; ``None`` means unlimited.

    Attributes
    ----------
    prompts
        Prompts at a time.
    optimizations_per_month, conversations_per_month
        Quotas of a billing period.
    requests_per_minute
        Request rate.
    tokens_per_month
        LLM tokens of a billing period.
    """

    name: PlanName
    prompts: int | None
    optimizations_per_month: int | None
    conversations_per_month: int | None
    requests_per_minute: int | None
    tokens_per_month: int | None = None


PLANS: Final[dict[PlanName, Plan]] = {
    "free": Plan("free", 5, 10, 500, 60),
    "pro": Plan("pro", 100, 50, 10_000, 300),
    # "custom" in the specification: unlimited unless an operator sets limits.
    "enterprise": Plan("enterprise", None, None, None, None),
}
# Limits that an account of any plan may have: the specification gives no plan a token limit.
LIMITED_IN_EVERY_PLAN: Final = frozenset({"tokens_per_month"})


def plan_with(name: PlanName, custom: Mapping[str, int]) -> Plan:
    """Return a plan with an account's own limits.

    Only an enterprise account may have its own limits, except for the token limit.

    >>> plan_with("enterprise", {"prompts": 7}).prompts, plan_with("free", {"prompts": 7}).prompts
    (7, 5)
    """
    if not custom:
        return PLANS[name]
    counting: dict[str, Any] = {
        limit: value
        for limit, value in custom.items()
        if name == "enterprise" or limit in LIMITED_IN_EVERY_PLAN
    }
    return replace(PLANS[name], **counting)


def request_rate(plan_name: str) -> int | None:
    """Return the requests per minute of a plan; ``None`` if unlimited or unknown."""
    return next((plan.requests_per_minute for plan in PLANS.values() if plan.name == plan_name.lower()), None)
