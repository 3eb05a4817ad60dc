"""Custom judges (a yes/no question with a rubric), their versions and runs, and the labels people give.

The specification has none of this: every field and path is ours.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import Field, FiniteFloat, StringConstraints

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.conversations import CONVERSATION_STATUSES
from promptlift.schema.model import (
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
)

JudgeOrigin = Literal["written", "aligned"]
JudgeRunKind = Literal["backfill", "alignment"]
JudgeRunStatus = Literal["queued", "running", "completed", "failed", "stopped"]

QUESTION_CHARS: Final = 500
RUBRIC_CHARS: Final = 8_000
EXAMPLE_CHARS: Final = 4_000
EXAMPLES_MAX: Final = 12
LABELS_MAX: Final = 2_000
LABELS_MIN: Final = 20
"""Fewest labels for an alignment: half of them learn, the other half measure."""
OUTCOME_LABELS_MIN: Final = 6
"""Fewest labels of either answer for an alignment."""
COUNT_MAX: Final = 10_000_000

Question = Annotated[Name, StringConstraints(max_length=QUESTION_CHARS)]
Rubric = Annotated[LongText, StringConstraints(max_length=RUBRIC_CHARS)]
ExampleText = Annotated[LongText, StringConstraints(min_length=1, max_length=EXAMPLE_CHARS)]


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
    """The judge's name, by which labels name its question."""
    version: Annotated[int, Column(name="judge_version")]
    """Version, from 1; a version never changes."""
    question: Annotated[str, Column()]
    """The question, which yes or no answers."""
    rubric: Annotated[str | None, Column()] = None
    """How to decide, in the owner's words."""
    examples: list[JudgeExample] | None = None
    llm_model: Annotated[str | None, Column()] = None
    """The model to ask; missing where it is the service's own."""
    origin: Annotated[str | None, Column(categories=get_args(JudgeOrigin))] = None
    """``written`` by a person, or ``aligned`` with labels."""
    versions: Annotated[int | None, Column(name="n_versions")] = None
    """Versions that there are."""
    verdicts: Annotated[int | None, Column(name="n_verdicts")] = None
    """Conversations that this version has answered for."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When this version was made."""


class JudgeExampleCreate(RequestModel):
    """An example that comes with a judge."""

    text: ExampleText
    answer: bool
    reason: Rubric | None = None


class JudgeCreate(RequestModel):
    """A judge, or a new version of the judge of this name."""

    name: Name
    question: Question
    """A question that yes or no answers."""
    rubric: Rubric | None = None
    """How to decide: what counts as yes, what as no, what to do in doubt."""
    examples: Annotated[list[JudgeExampleCreate], Field(max_length=EXAMPLES_MAX)] | None = None
    llm_model: ModelName | None = None
    """The model to ask; the service's own when it is left out."""


class TokenPrice(RequestModel):
    """Price of the judge's model, in any currency."""

    input: Annotated[FiniteFloat, Field(ge=0, strict=False)]
    """Of a million tokens that it reads."""
    output: Annotated[FiniteFloat, Field(ge=0, strict=False)]
    """Of a million tokens that it writes."""


class JudgeBackfillCreate(LinkedRequest):
    """The conversations that a judge is put to, of a prompt where one is named, and what that may cost at most."""

    version: Annotated[int, Field(ge=1)] | None = None
    """Version of the judge; the newest when it is left out."""
    since: UtcTime | None = None
    """Only conversations that started at this time or later."""
    until: UtcTime | None = None
    """Only conversations that started before this time."""
    max_conversations: Annotated[int, Field(ge=1, le=COUNT_MAX)] | None = None
    """Conversations to judge at most, the newest first."""
    max_tokens: Annotated[int, Field(ge=1, le=limits.COUNT_MAX)] | None = None
    """No conversation is begun once so many tokens are used up."""
    max_cost: Annotated[FiniteFloat, Field(gt=0, strict=False)] | None = None
    """No conversation is begun once so much is spent; needs a price."""
    price: TokenPrice | None = None


class JudgePlan(ApiModel):
    """What putting a judge to conversations will take. Nothing has been asked yet."""

    judge_id: str
    judge: str
    judge_version: int
    conversations: int
    """Conversations to judge."""
    already_judged: int
    """Conversations of the selection that this version has answered for already."""
    without_content: int
    """Conversations whose transcript was deleted, which nobody can judge."""
    calls: int
    """Calls of the model, one a conversation."""
    calls_max: int
    """The same if every answer has to be asked for twice."""
    input_tokens: int
    """Estimate: a quarter of the characters."""
    output_tokens: int
    """Estimate."""
    tokens: int
    cost: float | None = None
    """By the price, where one was given."""
    model: str | None = None
    """The model that will be asked; ``None`` where none is configured."""


class JudgeLabel(RequestModel):
    """A person's answer to the judge's question for one conversation."""

    conversation_id: LinkText
    value: bool


class JudgeAlignCreate(RequestModel):
    """Labels to improve a judge by."""

    labels: Annotated[list[JudgeLabel], Field(min_length=1, max_length=LABELS_MAX)]
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None
    """Another number splits the labels in another way."""
    generations: Annotated[int, Field(ge=1, le=10)] | None = None
    """How often new instructions are written at most; default 4."""
    max_tokens: Annotated[int, Field(ge=1, le=limits.COUNT_MAX)] | None = None
    """The run stops once so many tokens are used up."""


class JudgeProgress(ApiModel):
    """Progress of a run."""

    done: Annotated[int, Column(name="n_done")]
    """Conversations with a verdict."""
    failed: Annotated[int, Column(name="n_failed")]
    """Conversations that could not be judged."""
    total: Annotated[int, Column(name="n_total")]
    """Conversations, or calls of an alignment, in all."""


class JudgeUsage(ApiModel):
    """Calls and tokens of a run."""

    model_calls: Annotated[int, Column()]
    """Calls of the model, repeated ones included."""
    tokens: Annotated[int, Column(unit="tokens")]
    """Tokens that they used up."""
    cost: Annotated[float | None, Column(unit="currency of the price")] = None
    """Their cost, where the run has a price."""


class JudgeEdit(ApiModel):
    """One change of a rubric that the model proposed."""

    operation: str
    """``add``, ``replace`` or ``delete``."""
    anchor: str | None = None
    """The sentence that is replaced or deleted."""
    text: str | None = None
    """The new sentence."""
    reason: str | None = None
    evidence: list[str]
    """The conversations on which the judge was wrong that led to it."""
    generation: int
    state: str
    """``kept``, ``rejected`` (it did not help) or ``refused`` (it may not be used)."""
    refusal: str | None = None


class JudgeAlignment(ApiModel):
    """What an alignment found."""

    improved: bool
    """Whether the judge has a new version."""
    sentence: str
    """The result in words."""
    new_version: int | None = None
    labels: int
    """Labels that could be used."""
    labels_left_out: int
    """Labels of conversations that are not there, or could not be judged."""
    train: int
    """Labels that the instructions were improved by."""
    test: int
    """Labels that nothing of the improvement saw: only they count."""
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
    """Test labels on which only the old ones are."""
    p: float | None = None
    """Exact one-sided McNemar test that the new instructions are right more often."""
    level: float
    rubric: str | None = None
    """The improved rubric, also where it was not better by the test."""
    edits: list[JudgeEdit]


class JudgeRun(LinkedModel):
    """A judge put to logged conversations, or improved by labels, in the background."""

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
    status: Annotated[str, Column(categories=get_args(JudgeRunStatus))]
    """``queued``, ``running``, ``completed``, ``failed`` or ``stopped``."""
    since: UtcTime | None = None
    until: UtcTime | None = None
    max_conversations: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    progress: Annotated[JudgeProgress | None, Nested()] = None
    usage: Annotated[JudgeUsage | None, Nested()] = None
    alignment: JudgeAlignment | None = None
    """What was found; ``None`` until the end, and of a backfill."""
    failure: Annotated[str | None, Column()] = None
    """Why it failed."""
    stop_reason: Annotated[str | None, Column()] = None
    """Why it was stopped."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When it was asked for."""
    started_at: Annotated[UtcTime | None, Column()] = None
    """When work on it began."""
    completed_at: Annotated[UtcTime | None, Column()] = None
    """When it ended."""


class JudgeVerdict(LinkedModel):
    """What a version of a judge answered for one conversation."""

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
    """Yes or no; missing where the conversation could not be judged."""
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
    """Whether a conversation's task was completed, as a person or the log says."""

    conversation_id: LinkText
    completed: bool
    group: ShortText | None = None
    """Its task or user: conversations of one stay together, so that none is judged by what was learned of another"""


class LearnedJudgeCreate(RequestModel):
    """Labels to learn a judge of "task completed" from."""

    labels: Annotated[list[LearnedLabel], Field(min_length=1, max_length=LABELS_MAX)]
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None
    """Another number divides the labels in another way."""


class LearnedWeights(ApiModel):
    """What a learned judge weighs: one linear model for each fold, over the same features."""

    names: list[str]
    weights: list[list[float]]
    """Of each feature, one row for each fold."""
    intercepts: list[float]


class LearnedDrift(ApiModel):
    """How the newest conversations differ from the labelled ones."""

    drifted: bool
    """Whether they look so unlike that what was learned need not hold for them."""
    auc: float
    """How well the two are told apart; 0.5 where they are alike."""
    auc_low: float
    auc_high: float
    differing: list[str]
    """What differs most."""
    conversation_ids: list[str]
    """The newest conversations that look most unlike: label these."""


class LearnedJudge(LinkedModel):
    """A version of the judge that learned from labels whether conversations of a prompt completed their task."""

    version: int
    """Version, from 1."""
    judges: bool
    """Whether conversations are judged by it."""
    sentence: str
    """What was learned, in words."""
    labels: int
    """Labels that could be used."""
    labels_left_out: int
    """Labels of conversations that are not of this prompt, have not ended or have no transcript."""
    groups: int
    """Groups that stay together; as many as labels where none were given."""
    accuracy: float
    """Share of the labels that it gets right, each by a model that saw nothing of its group."""
    accuracy_low: float
    accuracy_high: float
    auc: float
    """Chance that a completed conversation gets a higher score than another, likewise."""
    auc_low: float
    auc_high: float
    majority: float
    """Share that always saying what most labels say gets right."""
    analyser: str | None = None
    """What judged before."""
    analyser_accuracy: float | None = None
    """Share that it gets right."""
    half_width: float
    """Half of the 95 % interval of a rate that these labels and the judge correct."""
    half_width_more: float
    """The same with 20 more labels."""
    drift: LearnedDrift | None = None
    """The newest conversations beside the labelled ones; missing where there are too few."""
    created_at: UtcTime | None = None
    """When it learned."""

    def __repr__(self) -> str:
        return self.sentence

    __str__ = __repr__


class Label(LinkedModel):
    """What one person answers to one question about one conversation."""

    id: Annotated[str, Column(name="label_id")]
    """The label's id."""
    conversation_id: Annotated[str, Column()]
    """The conversation, a logged or a simulated one."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization that a simulated conversation is of; ``None`` for a logged one."""
    question: Annotated[str, Column()]
    """What was asked: ``task_completed``, ``sentiment``, ``note``, or a question of one's own."""
    value: Annotated[str, Column()]
    """The answer: ``yes`` or ``no``, a sentiment, or one of one's own."""
    labeller: Annotated[str, Column()]
    """The name of the person who answered."""
    labelled_at: Annotated[UtcTime | None, Column()] = None
    """When."""
    chance: Annotated[float | None, Column(unit="fraction")] = None
    """The chance with which the conversation was drawn; ``None`` where nobody knows, as where it was picked by hand."""
    draw_id: Annotated[str | None, Column()] = None
    """The draw that it belongs to."""


class LabelsAnswer(ApiModel):
    """Answer of ``POST /labels``: the labels as they are kept now, in the order of the request."""

    data: list[Label | None]
    """``null`` where a label was removed."""


class LabelRequest(RequestModel):
    """One label of ``POST /labels``. What the same person said before of the same question is replaced."""

    conversation_id: Identifier
    """A logged or a simulated conversation"""
    question: Name
    """task_completed, sentiment, note, or a question of one's own"""
    value: LongText | None
    """The answer; null or an empty text removes the label"""
    labeller: Name
    """The name of the person who answers"""
    labelled_at: UtcTime | None = None
    """When; the present when it is left out"""
    chance: Annotated[float | None, Field(gt=0.0, le=1.0)] = None
    """The chance with which the conversation was drawn; what was known before stays when it is left out"""
    draw_id: Identifier | None = None
    """The draw that it belongs to; what was known before stays when it is left out"""


class LabelCreate(RequestModel):
    """Body of ``POST /labels``."""

    labels: Annotated[list[LabelRequest], Field(min_length=1, max_length=limits.BULK_ROWS)]
    """All are kept, or none"""
