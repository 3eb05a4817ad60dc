"""The deployment of a winner: the regression test before it and the watch after it."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, number, one_of, text, time

PAIRS = dict.fromkeys(("n", "n11", "n10", "n01", "n00", "dropped"), count)
DEPLOYMENT_LISTED = {
    "id": text,
    "state": one_of("staged", "testing", "rejected", "live", "superseded", "rolled_back"),
}
REGRESSION_TEST = {
    "passed": flag,
    "verdict": one_of("passed", "regressed", "inconclusive"),
    "summary": {"total": count, "passed": count, "regressed": count},
    "scenarios": listed({"name": text, "passed": flag, "delta": maybe(number), "n": count}),
    "pairs": PAIRS,
    **dict.fromkeys(("liftPoints", "liftPointsLow", "smallestDropFound", "confidenceWorse"), maybe(number)),
}
DEPLOYMENT = {
    **DEPLOYMENT_LISTED,
    "origin": one_of("manual", "approval", "auto"),
    "variantId": text,
    "appliedAt": maybe(time),
    "versionId": maybe(text),
    "previousVersionId": maybe(text),
    "regressionTest": maybe(REGRESSION_TEST),
    "production": maybe(
        {
            "since": time,
            "conversations": count,
            "completedRate": maybe(number),
            "conversationsBefore": count,
            "completedRateBefore": maybe(number),
            "metrics": listed(
                {
                    "metric": one_of(
                        "task_completion", "sentiment", "quality", "abandonment", "response_time", "length"
                    ),
                    **dict.fromkeys(("before", "after"), maybe(number)),
                    **dict.fromkeys(("conversationsBefore", "conversations"), count),
                    **dict.fromkeys(("p", "level"), number),
                    "regressed": flag,
                }
            ),
        }
    ),
    "verification": maybe(one_of("pending", "verified", "not_fixed", "regressed", "confounded")),
    "rolledBackAt": maybe(time),
    "reason": maybe(text),
}
