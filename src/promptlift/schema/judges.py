"""Custom judges (a yes/no question with a rubric), their versions and runs, and people's labels.

None of this is in the specification: every field and path is ours.
"""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field, FiniteFloat, StringConstraints

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.conversations import CONVERSATION_STATUSES, Amount
from promptlift.schema.model import (
    RUN_STATUSES,
    ApiModel,
    Identifier,
    LinkedModel,
    LinkedRequest,
    LinkText,
    LongText,
    ModelName,
    Name,
    RequestModel,
    ShortText,
    UtcTime,
    not_blank,
    storable,
)

JudgeOrigin = Literal["written", "aligned"]
JudgeRunKind = Literal["backfill", "alignment"]

QUESTION_CHARS: Final = 500
RUBRIC_CHARS: Final = 8_000
EXAMPLE_CHARS: Final = 4_000
EXAMPLES_MAX: Final = 12
LABELS_MAX: Final = 2_000
LABELS_MIN: Final = 20
"""Fewest labels for an alignment: half of them are for learning, the other half for measuring."""
OUTCOME_LABELS_MIN: Final = 6
"""Fewest labels of either answer for an alignment."""
COUNT_MAX: Final = 10_000_000

Question = Annotated[str, StringConstraints(max_length=QUESTION_CHARS), AfterValidator(not_blank)]
Rubric = Annotated[str, StringConstraints(max_length=RUBRIC_CHARS), AfterValidator(storable)]
ExampleText = Annotated[
    str, StringConstraints(min_length=1, max_length=EXAMPLE_CHARS), AfterValidator(storable)
]


class JudgeExample(ApiModel):
    """A conversation, or a part of one, with the right answer."""

    text: str
    answer: bool
    reason: str | None = None


class Judge(ApiModel):
    """One version of a judge."""

    id: Annotated[str, Column(name="judge_id")]
    """The judge's id, the same in all versions."""
    name: Annotated[str, Column(name="judge")]
    """The judge's name, which labels use to refer to its question."""
    version: Annotated[int, Column(name="judge_version")]
    """Version, from 1; a version never changes."""
    question: Annotated[str, Column()]
    """The question, which yes or no answers."""
    rubric: Annotated[str | None, Column()] = None
    """How to decide, in the owner's words."""
    examples: list[JudgeExample] | None = None
    llm_model: Annotated[str | None, Column()] = None
    """The model to use; missing for the service's own."""
    origin: Annotated[str | None, Column(categories=get_args(JudgeOrigin))] = None
    """``written`` by a person, or ``aligned`` with labels."""
    versions: Annotated[int | None, Column(name="n_versions")] = None
    """Number of versions."""
    verdicts: Annotated[int | None, Column(name="n_verdicts")] = None
    """Conversations that this version has judged."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When this version was created."""


class JudgeExampleCreate(RequestModel):
    """An example of a judge."""

    text: ExampleText
    answer: bool
    reason: Rubric | None = None


class JudgeCreate(RequestModel):
    """A judge, or a new version of the judge with this name."""

    name: Name
    question: Question
    """A yes/no question."""
    rubric: Rubric | None = None
    """How to decide: what counts as yes, what as no, what to do in doubt."""
    examples: Annotated[list[JudgeExampleCreate], Field(max_length=EXAMPLES_MAX)] | None = None
    llm_model: ModelName | None = None
    """The model to use; by default the service's own."""


class TokenPrice(RequestModel):
    """Price of a model, in any currency."""

    input: Amount
    """Price of a million tokens that it reads."""
    output: Amount
    """Price of a million tokens that it writes."""


class JudgeBackfillCreate(LinkedRequest):
    """The conversations to judge, possibly of one prompt only, and limits on the cost."""

    version: Annotated[int, Field(ge=1)] | None = None
    """Version of the judge; by default the newest."""
    since: UtcTime | None = None
    """Only conversations that started at this time or later."""
    until: UtcTime | None = None
    """Only conversations that started before this time."""
    max_conversations: Annotated[int, Field(ge=1, le=COUNT_MAX)] | None = None
    """Maximum number of conversations to judge, newest first."""
    max_tokens: Annotated[int, Field(ge=1, le=limits.COUNT_MAX)] | None = None
    """No conversation is started once this many tokens are used."""
    max_cost: Annotated[FiniteFloat, Field(gt=0, strict=False)] | None = None
    """No conversation is started once this amount is spent; needs a price."""
    price: TokenPrice | None = None


class JudgePlan(ApiModel):
    """The estimated cost of judging conversations. The model has not been called yet."""

    judge_id: str
    judge: str
    judge_version: int
    conversations: int
    """Conversations to judge."""
    already_judged: int
    """Conversations of the selection that this version has already judged."""
    without_content: int
    """Conversations whose transcript was deleted, which nobody can judge."""
    calls: int
    """Calls of the model, one per conversation."""
    calls_max: int
    """The same if every answer needs a second attempt."""
    input_tokens: int
    """Estimate: a quarter of the characters."""
    output_tokens: int
    """Estimate."""
    tokens: int
    cost: float | None = None
    """Cost by the price, if one was given."""
    model: str | None = None
    """The model to be used; ``None`` if none is configured."""


class JudgeLabel(RequestModel):
    """A person's answer to the judge's question for one conversation."""

    conversation_id: LinkText
    value: bool


class JudgeAlignCreate(RequestModel):
    """Labels for improving a judge."""

    labels: Annotated[list[JudgeLabel], Field(min_length=1, max_length=LABELS_MAX)]
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None
    """A different number splits the labels differently."""
    generations: Annotated[int, Field(ge=1, le=10)] | None = None
    """Maximum number of times that new instructions are written; default 4."""
    max_tokens: Annotated[int, Field(ge=1, le=limits.COUNT_MAX)] | None = None
    """The run stops once this many tokens are used."""


class JudgeProgress(ApiModel):
    """Progress of a run."""

    done: Annotated[int, Column(name="n_done")]
    """Conversations with a verdict."""
    failed: Annotated[int, Column(name="n_failed")]
    """Conversations that could not be judged."""
    total: Annotated[int, Column(name="n_total")]
    """Total number of conversations, or of calls in an alignment."""


class JudgeUsage(ApiModel):
    """Calls and tokens of a run."""

    model_calls: Annotated[int, Column()]
    """Calls of the model, including repeated ones."""
    tokens: Annotated[int, Column(unit="tokens")]
    """Tokens that they used."""
    cost: Annotated[float | None, Column(unit="currency of the price")] = None
    """Their cost, if the run has a price."""


class JudgeEdit(ApiModel):
    """One change of a rubric that the model proposed."""

    operation: str
    """``add``, ``replace`` or ``delete``."""
    anchor: str | None = None
    """The sentence to replace or delete."""
    text: str | None = None
    """The new sentence."""
    reason: str | None = None
    evidence: list[str]
    """The misjudged conversations that motivated it."""
    generation: int
    state: str
    """``kept``, ``rejected`` (it did not help) or ``refused`` (it must not be used)."""
    refusal: str | None = None


class JudgeAlignment(ApiModel):
    """The result of an alignment."""

    improved: bool
    """Whether the judge has a new version."""
    sentence: str
    """The result in words."""
    new_version: int | None = None
    labels: int
    """Labels that could be used."""
    labels_left_out: int
    """Labels of conversations that do not exist, or could not be judged."""
    train: int
    """Labels used to improve the instructions."""
    test: int
    """Labels not used for the improvement: only they count."""
    agreement_before: float | None = None
    agreement_after: float | None = None
    kappa_before: float | None = None
    kappa_before_low: float | None = None
    kappa_before_high: float | None = None
    kappa_after: float | None = None
    kappa_after_low: float | None = None
    kappa_after_high: float | None = None
    better: int | None = None
    """Test labels on which only the new instructions are right."""
    worse: int | None = None
    """Test labels on which only the old ones are right."""
    p: float | None = None
    """p-value of the exact one-sided McNemar test that the new instructions are right more often."""
    level: float
    rubric: str | None = None
    """The improved rubric, even if the test did not find it better."""
    edits: list[JudgeEdit]


class JudgeRun(LinkedModel):
    """A background run that judges logged conversations, or improves a judge by labels."""

    id: Annotated[str, Column(name="run_id")]
    """The run's id."""
    kind: Annotated[str, Column(categories=get_args(JudgeRunKind))]
    """``backfill`` or ``alignment``."""
    judge_id: Annotated[str, Column()]
    """The judge's id."""
    judge: Annotated[str, Column()]
    """The judge's name."""
    judge_version: Annotated[int, Column()]
    """The judge's version."""
    status: Annotated[str, Column(categories=RUN_STATUSES)]
    """``queued``, ``running``, ``completed``, ``failed`` or ``stopped``."""
    since: UtcTime | None = None
    until: UtcTime | None = None
    max_conversations: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    progress: Annotated[JudgeProgress | None, Nested()] = None
    usage: Annotated[JudgeUsage | None, Nested()] = None
    alignment: JudgeAlignment | None = None
    """The result; ``None`` until the end, and for a backfill."""
    failure: Annotated[str | None, Column()] = None
    """Why it failed."""
    stop_reason: Annotated[str | None, Column()] = None
    """Why it was stopped."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When it was requested."""
    started_at: Annotated[UtcTime | None, Column()] = None
    """When work on it began."""
    completed_at: Annotated[UtcTime | None, Column()] = None
    """When it ended."""


class JudgeVerdict(LinkedModel):
    """The answer of a judge's version for one conversation."""

    id: str
    """The verdict's id."""
    conversation_id: Annotated[str, Column()]
    """The conversation."""
    status: Annotated[str | None, Column(categories=CONVERSATION_STATUSES)] = None
    """Status of the conversation."""
    judge: Annotated[str, Column()]
    """The judge's name."""
    judge_version: Annotated[int, Column()]
    """The version that answered."""
    verdict: Annotated[bool | None, Column()] = None
    """Yes or no; missing if the conversation could not be judged."""
    reason: Annotated[str | None, Column()] = None
    """Why, in the model's words."""
    analyser: Annotated[str | None, Column()] = None
    """``llm:`` and the model that answered."""
    problem: Annotated[str | None, Column()] = None
    """Why the conversation could not be judged."""
    started_at: Annotated[UtcTime | None, Column()] = None
    """When the conversation started."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the conversation was logged."""
    judged_at: Annotated[UtcTime | None, Column()] = None
    """When the judge answered."""


class LearnedLabel(RequestModel):
    """Whether a conversation's task was completed, according to a person or the log."""

    conversation_id: LinkText
    completed: bool
    group: ShortText | None = None
    """Its task or user: conversations of one stay together, so that none is judged by what was learned of another"""


class LearnedJudgeCreate(RequestModel):
    """Labels from which to learn a judge of "task completed"."""

    labels: Annotated[list[LearnedLabel], Field(min_length=1, max_length=LABELS_MAX)]
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None
    """A different number divides the labels differently."""


class LearnedWeights(ApiModel):
    """The weights of a learned judge: one linear model per fold, over the same features."""

    names: list[str]
    weights: list[list[float]]
    """Weights of each feature, one row per fold."""
    intercepts: list[float]


class LearnedDrift(ApiModel):
    """How the newest conversations differ from the labelled ones."""

    drifted: bool
    """Whether they are so different that the judge may not be valid for them."""
    auc: float
    """How well the two can be distinguished; 0.5 if they are alike."""
    auc_low: float
    auc_high: float
    differing: list[str]
    """The features that differ most."""
    conversation_ids: list[str]
    """The newest conversations that differ most: label these."""


class LearnedJudge(LinkedModel):
    """A version of the judge that learned from labels whether conversations of a prompt completed their task."""

    version: int
    """Version, from 1."""
    judges: bool
    """Whether it judges conversations."""
    sentence: str
    """A description of the judge."""
    labels: int
    """Labels that could be used."""
    labels_left_out: int
    """Labels of conversations that are not of this prompt, have not ended or have no transcript."""
    groups: int
    """Number of groups that stay together; equal to the labels if none were given."""
    accuracy: float
    """Share of the labels that it gets right, each predicted by a model that had not seen its group."""
    accuracy_low: float
    accuracy_high: float
    auc: float
    """Chance that a completed conversation gets a higher score than another, likewise."""
    auc_low: float
    auc_high: float
    majority: float
    """Share that is right when always giving the majority's answer."""
    analyser: str | None = None
    """The previous judge."""
    analyser_accuracy: float | None = None
    """Share that the previous judge gets right."""
    half_width: float
    """Half the width of the 95% interval of a rate corrected by these labels and the judge."""
    half_width_more: float
    """The same with 20 more labels."""
    drift: LearnedDrift | None = None
    """The newest conversations compared with the labelled ones; missing if there are too few."""
    created_at: UtcTime | None = None
    """When it learned."""

    def __repr__(self) -> str:
        return self.sentence

    __str__ = __repr__


class Label(LinkedModel):
    """One person's answer to one question about one conversation."""

    id: Annotated[str, Column(name="label_id")]
    """The label's id."""
    conversation_id: Annotated[str, Column()]
    """The conversation, a logged or a simulated one."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization of a simulated conversation; ``None`` for a logged one."""
    question: Annotated[str, Column()]
    """The question: ``task_completed``, ``sentiment``, ``note``, or a custom one."""
    value: Annotated[str, Column()]
    """The answer: ``yes`` or ``no``, a sentiment, or a custom one."""
    labeller: Annotated[str, Column()]
    """The name of the person who answered."""
    labelled_at: Annotated[UtcTime | None, Column()] = None
    """When it was answered."""
    chance: Annotated[float | None, Column(unit="fraction")] = None
    """The probability with which the conversation was drawn; ``None`` if unknown, for example if picked by hand."""
    draw_id: Annotated[str | None, Column()] = None
    """The draw to which it belongs."""


class LabelsAnswer(ApiModel):
    """Answer of ``POST /labels``: the labels as stored, in the order of the request."""

    data: list[Label | None]
    """``null`` if a label was removed."""


class LabelRequest(RequestModel):
    """One label of ``POST /labels``. The same person's earlier label for the same question is replaced."""

    conversation_id: Identifier
    """A logged or a simulated conversation"""
    question: Name
    """task_completed, sentiment, note, or a custom question"""
    value: LongText | None
    """The answer; null or an empty text removes the label"""
    labeller: Name
    """The name of the person who answers"""
    labelled_at: UtcTime | None = None
    """Time of the answer; by default now"""
    chance: Annotated[float | None, Field(gt=0.0, le=1.0)] = None
    """The probability with which the conversation was drawn; if omitted, the previous value stays"""
    draw_id: Identifier | None = None
    """The draw to which it belongs; if omitted, the previous value stays"""


class LabelCreate(RequestModel):
    """Body of ``POST /labels``."""

    labels: Annotated[list[LabelRequest], Field(min_length=1, max_length=limits.BULK_ROWS)]
    """All are stored, or none"""
