"""Optimizations, their variants, and what is done with them."""

from __future__ import annotations

from support.shapes import count, flag, maybe, number, one_of, text, time

OPTIMIZATION_STATUS = one_of("queued", "running", "completed", "failed", "stopped")
OPTIMIZATION_CREATED = {
    "id": text,
    "status": OPTIMIZATION_STATUS,
    "mode": one_of("exploratory", "validation"),
    "variantCount": count,
    "createdAt": time,
}
OPTIMIZATION_LISTED = {**OPTIMIZATION_CREATED, "promptId": text, "completedAt": maybe(time)}
RESULTS_MEASURED = {"winningVariantId": maybe(text), "lift": maybe(number), "confidence": maybe(number)}
RESULTS = {**RESULTS_MEASURED, "winnerSelected": flag}
OPTIMIZATION = {**OPTIMIZATION_LISTED, "results": RESULTS}
# "lift: present on non-original variants", "isWinner: present on the winner".
ORIGINAL = {
    "id": text,
    "name": text,
    "isOriginal": flag,
    "content": text,
    "metrics": dict.fromkeys(("taskCompletion", "sentiment", "quality"), maybe(number)),
}
VARIANT = {**ORIGINAL, "lift": maybe(number)}
WINNER = {**VARIANT, "isWinner": flag}
APPLIED = {"success": flag, "promptId": text, "appliedVariantId": text, "message": text}
STOPPED = {"success": flag, "status": one_of("stopped")}
