"""The tables. Every row belongs to an account; times are milliseconds since 1970, UTC."""

from promptlift.service.store.tables import counts
from promptlift.service.store.tables.accounts import (
    AccountRow,
    ApiKeyRow,
    RateWindowRow,
    SingletonJobRow,
    UsageRow,
    WorkerRow,
)
from promptlift.service.store.tables.conversations import (
    ContentRow,
    ConversationRow,
    DeletedConversationRow,
    IdempotencyKeyRow,
    InsightsRow,
    IssueNameRow,
    TracedCallRow,
    TracedConversationRow,
)
from promptlift.service.store.tables.events import DeliveryRow, EventRow, WebhookRow
from promptlift.service.store.tables.mapping import Base
from promptlift.service.store.tables.prompts import (
    ActionRow,
    LabelRow,
    LearnedJudgeRow,
    PersonaRow,
    PromptRow,
    ReviewRow,
    VersionRow,
)
from promptlift.service.store.tables.runs import (
    BenchmarkConversationRow,
    CellRow,
    DeploymentRow,
    JudgeRow,
    OptimizationRow,
    RunRow,
    ScenarioSetRow,
    SimulationRow,
    VariantRow,
    VerdictRow,
)

metadata = Base.metadata

BLOCK_COLUMNS = counts.BLOCK_COLUMNS
conversation_blocks = counts.conversation_blocks
conversation_issue_sets = counts.conversation_issue_sets
conversation_sums = counts.conversation_sums
conversation_turns = counts.conversation_turns
accounts = AccountRow.__table__
actions = ActionRow.__table__
api_keys = ApiKeyRow.__table__
benchmark_conversations = BenchmarkConversationRow.__table__
conversation_contents = ContentRow.__table__
conversations = ConversationRow.__table__
deleted_conversations = DeletedConversationRow.__table__
deliveries = DeliveryRow.__table__
deployments = DeploymentRow.__table__
events = EventRow.__table__
idempotency_keys = IdempotencyKeyRow.__table__
insights = InsightsRow.__table__
issue_names = IssueNameRow.__table__
judge_verdicts = VerdictRow.__table__
judges = JudgeRow.__table__
labels = LabelRow.__table__
learned_judges = LearnedJudgeRow.__table__
optimization_cells = CellRow.__table__
optimization_variants = VariantRow.__table__
optimizations = OptimizationRow.__table__
personas = PersonaRow.__table__
prompt_versions = VersionRow.__table__
prompts = PromptRow.__table__
rate_windows = RateWindowRow.__table__
runs = RunRow.__table__
scenario_sets = ScenarioSetRow.__table__
simulations = SimulationRow.__table__
singleton_jobs = SingletonJobRow.__table__
traced_calls = TracedCallRow.__table__
traced_conversations = TracedConversationRow.__table__
usage_counters = UsageRow.__table__
variant_reviews = ReviewRow.__table__
webhooks = WebhookRow.__table__
workers = WorkerRow.__table__
