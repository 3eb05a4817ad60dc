"""Pure statistics over numbers and arrays: no tables, no model, no clock, no database."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from promptlift.stats.intervals import check_level, mean_interval, wilson

if TYPE_CHECKING:
    from promptlift.stats.budget import confirm_passes, screening_plan
    from promptlift.stats.deployment import (
        CHECKPOINTS,
        Deployment,
        IssueCounts,
        IssueResult,
        Reduction,
        checkpoint,
        deployment_verdict,
        failure_reduction,
    )
    from promptlift.stats.differences import (
        PairedComparison,
        UnpairedComparison,
        compare_paired,
        compare_unpaired,
        newcombe,
        sign_test_p,
    )
    from promptlift.stats.effect import (
        LiftInterval,
        clustered_covariance,
        lift,
        lift_interval,
        lift_points,
    )
    from promptlift.stats.evidence import (
        CONFIDENCE_THRESHOLDS,
        confidence,
        confidence_calibrated,
        e_threshold,
        mcnemar_e_value,
        mcnemar_log_e_value,
    )
    from promptlift.stats.experiment import Experiment
    from promptlift.stats.findable import findable_mean, findable_points_paired, findable_points_unpaired
    from promptlift.stats.guardrails import GUARDRAIL_MARGINS, Guardrail, guardrail
    from promptlift.stats.looks import look_multiplier, look_multipliers
    from promptlift.stats.multiplicity import holm
    from promptlift.stats.paired_scores import PairedScoreTest, paired_score_test
    from promptlift.stats.pairs import PairAnalysis, analyse_pairs
    from promptlift.stats.passes import Cell, Outcome, Pass
    from promptlift.stats.planning import pairs_needed, power_of_pairs, smallest_findable_points
    from promptlift.stats.regression import RegressionTest, ScenarioPairs, ScenarioResult, regression_test
    from promptlift.stats.sentiment import LabelTest, ScoreTest, label_test, score_test
    from promptlift.stats.shrinkage import PRIOR_SD_POINTS, ExpectedLift, expected_lift, prior_sd_from
    from promptlift.stats.trend import ChangePoint, TrendTest, adjust_trends, change_point, trend_test
    from promptlift.stats.verdict import Progress, VariantStats, Verdict, WhyNoWinner, why_no_winner

__all__ = [
    "CHECKPOINTS",
    "CONFIDENCE_THRESHOLDS",
    "GUARDRAIL_MARGINS",
    "PRIOR_SD_POINTS",
    "Cell",
    "ChangePoint",
    "Deployment",
    "ExpectedLift",
    "Experiment",
    "Guardrail",
    "IssueCounts",
    "IssueResult",
    "LabelTest",
    "LiftInterval",
    "Outcome",
    "PairAnalysis",
    "PairedComparison",
    "PairedScoreTest",
    "Pass",
    "Progress",
    "Reduction",
    "RegressionTest",
    "ScenarioPairs",
    "ScenarioResult",
    "ScoreTest",
    "TrendTest",
    "UnpairedComparison",
    "VariantStats",
    "Verdict",
    "WhyNoWinner",
    "adjust_trends",
    "analyse_pairs",
    "change_point",
    "check_level",
    "checkpoint",
    "clustered_covariance",
    "compare_paired",
    "compare_unpaired",
    "confidence",
    "confidence_calibrated",
    "confirm_passes",
    "deployment_verdict",
    "e_threshold",
    "expected_lift",
    "failure_reduction",
    "findable_mean",
    "findable_points_paired",
    "findable_points_unpaired",
    "guardrail",
    "holm",
    "label_test",
    "lift",
    "lift_interval",
    "lift_points",
    "look_multiplier",
    "look_multipliers",
    "mcnemar_e_value",
    "mcnemar_log_e_value",
    "mean_interval",
    "newcombe",
    "paired_score_test",
    "pairs_needed",
    "power_of_pairs",
    "prior_sd_from",
    "regression_test",
    "score_test",
    "screening_plan",
    "sign_test_p",
    "smallest_findable_points",
    "trend_test",
    "why_no_winner",
    "wilson",
]

# Loaded on first use: tables of rates need the intervals only. Module to the names it has.
_LAZY: Final[dict[str, tuple[str, ...]]] = {
    "budget": (
        "confirm_passes",
        "screening_plan",
    ),
    "deployment": (
        "CHECKPOINTS",
        "Deployment",
        "IssueCounts",
        "IssueResult",
        "Reduction",
        "checkpoint",
        "deployment_verdict",
        "failure_reduction",
    ),
    "differences": (
        "PairedComparison",
        "UnpairedComparison",
        "compare_paired",
        "compare_unpaired",
        "newcombe",
        "sign_test_p",
    ),
    "evidence": (
        "CONFIDENCE_THRESHOLDS",
        "confidence",
        "confidence_calibrated",
        "e_threshold",
        "mcnemar_e_value",
        "mcnemar_log_e_value",
    ),
    "experiment": ("Experiment",),
    "findable": (
        "findable_mean",
        "findable_points_paired",
        "findable_points_unpaired",
    ),
    "guardrails": (
        "GUARDRAIL_MARGINS",
        "Guardrail",
        "guardrail",
    ),
    "effect": (
        "LiftInterval",
        "clustered_covariance",
        "lift",
        "lift_interval",
        "lift_points",
    ),
    "looks": (
        "look_multiplier",
        "look_multipliers",
    ),
    "multiplicity": ("holm",),
    "pairs": (
        "PairAnalysis",
        "analyse_pairs",
    ),
    "paired_scores": (
        "PairedScoreTest",
        "paired_score_test",
    ),
    "passes": (
        "Cell",
        "Outcome",
        "Pass",
    ),
    "planning": (
        "pairs_needed",
        "power_of_pairs",
        "smallest_findable_points",
    ),
    "regression": (
        "RegressionTest",
        "ScenarioPairs",
        "ScenarioResult",
        "regression_test",
    ),
    "sentiment": (
        "LabelTest",
        "ScoreTest",
        "label_test",
        "score_test",
    ),
    "shrinkage": (
        "PRIOR_SD_POINTS",
        "ExpectedLift",
        "expected_lift",
        "prior_sd_from",
    ),
    "trend": (
        "ChangePoint",
        "TrendTest",
        "adjust_trends",
        "change_point",
        "trend_test",
    ),
    "verdict": (
        "Progress",
        "VariantStats",
        "Verdict",
        "WhyNoWinner",
        "why_no_winner",
    ),
}
_HOMES: Final = {name: module for module, names in _LAZY.items() for name in names}


def __getattr__(name: str) -> Any:
    try:
        module = importlib.import_module(f"promptlift.stats.{_HOMES[name]}")
    except KeyError:
        raise AttributeError(f"module 'promptlift.stats' has no attribute {name!r}") from None
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
