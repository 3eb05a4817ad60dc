"""The tables. Every row belongs to an account; times are milliseconds since 1970, UTC."""

import promptlift.service.store.tables.accounts
import promptlift.service.store.tables.conversations
import promptlift.service.store.tables.events
import promptlift.service.store.tables.prompts
import promptlift.service.store.tables.runs  # noqa: F401 - the rows declare their tables
from promptlift.service.store.rows import Base

metadata = Base.metadata

accounts = metadata.tables["accounts"]
api_keys = metadata.tables["api_keys"]
conversation_contents = metadata.tables["conversation_contents"]
conversations = metadata.tables["conversations"]
deleted_conversations = metadata.tables["deleted_conversations"]
events = metadata.tables["events"]
experiments = metadata.tables["experiments"]
idempotency_keys = metadata.tables["idempotency_keys"]
insights = metadata.tables["insights"]
issue_names = metadata.tables["issue_names"]
prompt_versions = metadata.tables["prompt_versions"]
prompts = metadata.tables["prompts"]
rate_windows = metadata.tables["rate_windows"]
singleton_jobs = metadata.tables["singleton_jobs"]
usage_counters = metadata.tables["usage_counters"]
