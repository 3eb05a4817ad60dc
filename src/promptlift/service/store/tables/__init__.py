"""The tables. Every row belongs to an account; times are milliseconds since 1970, UTC."""

import promptlift.service.store.tables.accounts
import promptlift.service.store.tables.conversations
import promptlift.service.store.tables.events
import promptlift.service.store.tables.prompts
import promptlift.service.store.tables.runs  # noqa: F401 - the rows declare their tables
from promptlift.service.store.tables import counts
from promptlift.service.store.tables.mapping import Base

metadata = Base.metadata

BLOCK_COLUMNS = counts.BLOCK_COLUMNS
conversation_blocks = counts.conversation_blocks
conversation_issue_sets = counts.conversation_issue_sets
conversation_sums = counts.conversation_sums
conversation_turns = counts.conversation_turns
accounts = metadata.tables["accounts"]
api_keys = metadata.tables["api_keys"]
benchmark_conversations = metadata.tables["benchmark_conversations"]
conversation_contents = metadata.tables["conversation_contents"]
conversations = metadata.tables["conversations"]
deleted_conversations = metadata.tables["deleted_conversations"]
deliveries = metadata.tables["deliveries"]
events = metadata.tables["events"]
experiments = metadata.tables["experiments"]
idempotency_keys = metadata.tables["idempotency_keys"]
insights = metadata.tables["insights"]
issue_names = metadata.tables["issue_names"]
judge_verdicts = metadata.tables["judge_verdicts"]
optimization_variants = metadata.tables["optimization_variants"]
optimizations = metadata.tables["optimizations"]
personas = metadata.tables["personas"]
prompt_versions = metadata.tables["prompt_versions"]
prompts = metadata.tables["prompts"]
rate_windows = metadata.tables["rate_windows"]
runs = metadata.tables["runs"]
simulations = metadata.tables["simulations"]
singleton_jobs = metadata.tables["singleton_jobs"]
traced_calls = metadata.tables["traced_calls"]
traced_conversations = metadata.tables["traced_conversations"]
usage_counters = metadata.tables["usage_counters"]
webhooks = metadata.tables["webhooks"]
workers = metadata.tables["workers"]
