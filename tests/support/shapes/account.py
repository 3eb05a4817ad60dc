"""The account, its settings and its usage."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, one_of, text, time

SETTINGS = {
    "general": dict.fromkeys(
        (
            *("name", "industry", "preferredLLM", "objectives", "kpis"),
            *("insightRequirements", "excludedDataAndTopics"),
        ),
        text,
    ),
    "optimization": {
        "optimizationStrategy": one_of("exploratory", "validation"),
        "variantsPerGeneration": count,
        "deploymentMode": one_of("manual", "semi-automatic"),
        "autoDeploy": {"enabled": flag, "requireRegressionPass": flag},
        "maxIterations": count,
        "simulation": {
            "personaCount": count,
            "scenariosPerSimulation": count,
            "maxTurns": count,
            "confidenceMode": one_of("low", "moderate", "high"),
        },
    },
}
ACCOUNT = {
    "id": text,
    "name": text,
    "email": text,
    "plan": {
        "name": one_of("free", "pro", "enterprise"),
        "limits": {
            "prompts": maybe(count),
            "optimizationsPerMonth": maybe(count),
            "conversationsPerMonth": maybe(count),
        },
    },
    "createdAt": time,
}
USAGE = {
    "period": {"start": time, "end": time},
    "prompts": {"used": count, "limit": maybe(count)},
    "optimizations": {"used": count, "limit": maybe(count), "running": count},
    "conversations": {"used": count, "limit": maybe(count)},
    "tokens": {"used": count, "limit": maybe(count)},
}
SYNC_CONTEXT = {
    "success": flag,
    "extracted": {"industry": text, "objectives": text},
    # Ours:
    "applied": listed(text),
    "problem": maybe(text),
}
