BEGIN TRANSACTION;
CREATE TABLE accounts (
	id VARCHAR(64) NOT NULL,
	name TEXT NOT NULL,
	email TEXT NOT NULL,
	"plan" VARCHAR(20) NOT NULL,
	settings TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_accounts PRIMARY KEY (id)
);
INSERT INTO "accounts" VALUES('acc_1','Support','owner@localhost','pro','{}',0);
CREATE TABLE actions (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	optimization_id VARCHAR(64),
	variant_id VARCHAR(64),
	kind VARCHAR(10) NOT NULL,
	from_version_seq BIGINT,
	to_version_seq BIGINT,
	note TEXT,
	undoes VARCHAR(64),
	undone_by VARCHAR(64),
	undone_at BIGINT,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_actions PRIMARY KEY (seq),
	CONSTRAINT fk_actions_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_actions_prompt_id_prompts FOREIGN KEY(prompt_id) REFERENCES prompts (id),
	CONSTRAINT uq_actions_id UNIQUE (id)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0010');
CREATE TABLE api_keys (
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	name TEXT NOT NULL,
	prefix VARCHAR(20) NOT NULL,
	hash VARCHAR(64) NOT NULL,
	created_at BIGINT NOT NULL,
	last_used_at BIGINT,
	revoked_at BIGINT,
	CONSTRAINT pk_api_keys PRIMARY KEY (id),
	CONSTRAINT fk_api_keys_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT uq_api_keys_hash UNIQUE (hash)
);
CREATE TABLE conversation_blocks (
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	block BIGINT NOT NULL,
	completed INTEGER NOT NULL,
	completed_with_insights INTEGER NOT NULL,
	abandoned INTEGER NOT NULL,
	abandoned_with_insights INTEGER NOT NULL,
	in_progress INTEGER NOT NULL,
	in_progress_with_insights INTEGER NOT NULL,
	CONSTRAINT pk_conversation_blocks PRIMARY KEY (account_id, prompt_id, block)
)
 WITHOUT ROWID

;
CREATE TABLE conversation_contents (
	conversation_id VARCHAR(64) NOT NULL,
	content BLOB NOT NULL,
	CONSTRAINT pk_conversation_contents PRIMARY KEY (conversation_id),
	CONSTRAINT fk_conversation_contents_conversation_id_conversations FOREIGN KEY(conversation_id) REFERENCES conversations (id)
);
INSERT INTO "conversation_contents" VALUES('cnv_1',X'557365723A2068656C6C6F0A417373697374616E743A206869');
CREATE TABLE conversation_issues (
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	span BIGINT NOT NULL,
	start BIGINT NOT NULL,
	issue VARCHAR(32) NOT NULL,
	title BLOB NOT NULL,
	high BIGINT NOT NULL,
	medium BIGINT NOT NULL,
	low BIGINT NOT NULL,
	failed BIGINT NOT NULL,
	CONSTRAINT pk_conversation_issues PRIMARY KEY (account_id, prompt_id, span, start, issue)
)
 WITHOUT ROWID

;
CREATE TABLE conversation_sums (
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	span BIGINT NOT NULL,
	start BIGINT NOT NULL,
	total BIGINT NOT NULL,
	completed BIGINT NOT NULL,
	abandoned BIGINT NOT NULL,
	messages BIGINT NOT NULL,
	responses BIGINT NOT NULL,
	response_seconds BIGINT NOT NULL,
	response_fractions BIGINT NOT NULL,
	judged BIGINT NOT NULL,
	task_completed BIGINT NOT NULL,
	positive BIGINT NOT NULL,
	neutral BIGINT NOT NULL,
	negative BIGINT NOT NULL,
	sentiment_fractions BIGINT NOT NULL,
	CONSTRAINT pk_conversation_sums PRIMARY KEY (account_id, prompt_id, span, start)
)
 WITHOUT ROWID

;
CREATE TABLE conversation_turns (
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	span BIGINT NOT NULL,
	start BIGINT NOT NULL,
	user_turns INTEGER NOT NULL,
	judged BIGINT NOT NULL,
	failed BIGINT NOT NULL,
	CONSTRAINT pk_conversation_turns PRIMARY KEY (account_id, prompt_id, span, start, user_turns)
)
 WITHOUT ROWID

;
CREATE TABLE conversations (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	status VARCHAR(20) NOT NULL,
	llm_model TEXT,
	company_name TEXT,
	idempotency_key TEXT,
	created_at BIGINT NOT NULL,
	started_at BIGINT NOT NULL,
	ended_at BIGINT NOT NULL,
	message_count INTEGER NOT NULL,
	user_turns INTEGER NOT NULL,
	response_seconds FLOAT,
	has_insights BOOLEAN NOT NULL,
	judging VARCHAR(10) NOT NULL,
	generation INTEGER NOT NULL,
	worker VARCHAR(100),
	judge_after BIGINT NOT NULL,
	judge_attempts INTEGER NOT NULL,
	judge_problem TEXT, source_id TEXT, content_hash VARCHAR(64),
	CONSTRAINT pk_conversations PRIMARY KEY (seq),
	CONSTRAINT fk_conversations_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_conversations_prompt_id_prompts FOREIGN KEY(prompt_id) REFERENCES prompts (id),
	CONSTRAINT uq_conversations_id UNIQUE (id)
);
INSERT INTO "conversations" VALUES(1,'cnv_1','acc_1','prm_1','completed',NULL,NULL,NULL,0,0,0,2,1,NULL,0,'claimed',1,'wrk_gone',0,0,NULL,NULL,NULL);
CREATE TABLE deployments (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	optimization_id VARCHAR(64) NOT NULL,
	variant_id VARCHAR(64) NOT NULL,
	state VARCHAR(20) NOT NULL,
	origin VARCHAR(20) NOT NULL,
	regression TEXT,
	production TEXT,
	verification VARCHAR(20),
	checked INTEGER NOT NULL,
	version_seq BIGINT,
	previous_version_seq BIGINT,
	applied_at BIGINT,
	rolled_back_at BIGINT,
	reason TEXT,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL, worker VARCHAR(100),
	CONSTRAINT pk_deployments PRIMARY KEY (seq),
	CONSTRAINT fk_deployments_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_deployments_optimization_id_optimizations FOREIGN KEY(optimization_id) REFERENCES optimizations (id),
	CONSTRAINT fk_deployments_prompt_id_prompts FOREIGN KEY(prompt_id) REFERENCES prompts (id),
	CONSTRAINT uq_deployments_id UNIQUE (id)
);
CREATE TABLE events (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	type VARCHAR(40) NOT NULL,
	subject_id VARCHAR(64) NOT NULL,
	data TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_events PRIMARY KEY (seq),
	CONSTRAINT fk_events_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT uq_events_id UNIQUE (id)
);
CREATE TABLE idempotency_keys (
	account_id VARCHAR(64) NOT NULL,
	"key" TEXT NOT NULL,
	conversation_id VARCHAR(64) NOT NULL,
	expires_at BIGINT NOT NULL,
	CONSTRAINT pk_idempotency_keys PRIMARY KEY (account_id, "key"),
	CONSTRAINT fk_idempotency_keys_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_idempotency_keys_conversation_id_conversations FOREIGN KEY(conversation_id) REFERENCES conversations (id)
);
CREATE TABLE insights (
	conversation_id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	id VARCHAR(64) NOT NULL,
	generation INTEGER NOT NULL,
	sentiment VARCHAR(10) NOT NULL,
	sentiment_score FLOAT NOT NULL,
	task_completed BOOLEAN NOT NULL,
	document TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_insights PRIMARY KEY (conversation_id),
	CONSTRAINT fk_insights_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_insights_conversation_id_conversations FOREIGN KEY(conversation_id) REFERENCES conversations (id),
	CONSTRAINT uq_insights_id UNIQUE (id)
);
CREATE TABLE optimization_cells (
	account_id VARCHAR(64) NOT NULL,
	optimization_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	pass INTEGER NOT NULL,
	stage VARCHAR(10) NOT NULL,
	persona TEXT NOT NULL,
	scenario TEXT NOT NULL,
	CONSTRAINT pk_optimization_cells PRIMARY KEY (optimization_id, number),
	CONSTRAINT fk_optimization_cells_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_optimization_cells_optimization_id_optimizations FOREIGN KEY(optimization_id) REFERENCES optimizations (id)
);
INSERT INTO "optimization_cells" VALUES('acc_1','opt_1',0,2,'screening','{}','{}');
INSERT INTO "optimization_cells" VALUES('acc_1','opt_1',1,3,'screening','{}','{}');
CREATE TABLE optimization_variants (
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	optimization_id VARCHAR(64) NOT NULL,
	number INTEGER NOT NULL,
	name TEXT NOT NULL,
	content TEXT NOT NULL,
	rationale TEXT,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_optimization_variants PRIMARY KEY (optimization_id, number),
	CONSTRAINT fk_optimization_variants_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_optimization_variants_optimization_id_optimizations FOREIGN KEY(optimization_id) REFERENCES optimizations (id),
	CONSTRAINT uq_optimization_variants_id UNIQUE (id)
);
INSERT INTO "optimization_variants" VALUES('var_0','acc_1','opt_1',0,'variant 0','You help.',NULL,0);
INSERT INTO "optimization_variants" VALUES('var_1','acc_1','opt_1',1,'variant 1','You help.',NULL,0);
CREATE TABLE optimizations (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	status VARCHAR(10) NOT NULL,
	mode VARCHAR(20) NOT NULL,
	variant_count INTEGER NOT NULL,
	intent TEXT,
	persona_ids TEXT,
	settings TEXT NOT NULL,
	prompt TEXT NOT NULL,
	seed BIGINT NOT NULL,
	rehearsal BOOLEAN NOT NULL,
	pool TEXT,
	experiment TEXT,
	results TEXT,
	failure TEXT,
	stop_reason TEXT,
	model_calls BIGINT NOT NULL,
	tokens BIGINT NOT NULL,
	worker VARCHAR(100),
	created_at BIGINT NOT NULL,
	started_at BIGINT,
	completed_at BIGINT,
	CONSTRAINT pk_optimizations PRIMARY KEY (seq),
	CONSTRAINT fk_optimizations_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_optimizations_prompt_id_prompts FOREIGN KEY(prompt_id) REFERENCES prompts (id),
	CONSTRAINT uq_optimizations_id UNIQUE (id)
);
INSERT INTO "optimizations" VALUES(1,'opt_1','acc_1','prm_1','completed','standard',2,NULL,NULL,'{}','{}',0,0,NULL,NULL,NULL,NULL,NULL,0,0,NULL,0,NULL,NULL);
CREATE TABLE personas (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	name TEXT NOT NULL,
	description TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	deleted_at BIGINT,
	CONSTRAINT pk_personas PRIMARY KEY (seq),
	CONSTRAINT fk_personas_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT uq_personas_id UNIQUE (id)
);
CREATE TABLE prompt_versions (
	seq INTEGER NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	prompt_id VARCHAR(64) NOT NULL,
	content TEXT NOT NULL,
	origin VARCHAR(20) NOT NULL,
	created_at BIGINT NOT NULL, optimization_id VARCHAR(64), variant_id VARCHAR(64), content_known BOOLEAN DEFAULT 1 NOT NULL,
	CONSTRAINT pk_prompt_versions PRIMARY KEY (seq),
	CONSTRAINT fk_prompt_versions_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_prompt_versions_prompt_id_prompts FOREIGN KEY(prompt_id) REFERENCES prompts (id)
);
INSERT INTO "prompt_versions" VALUES(1,'acc_1','prm_1','You help.','created',0,NULL,NULL,1);
CREATE TABLE prompts (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	name TEXT NOT NULL,
	content TEXT NOT NULL,
	llm_model TEXT NOT NULL,
	description TEXT,
	tags TEXT NOT NULL,
	temperature FLOAT,
	max_tokens INTEGER,
	objective TEXT,
	status VARCHAR(20) NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	deleted_at BIGINT, content_known BOOLEAN DEFAULT 1 NOT NULL,
	CONSTRAINT pk_prompts PRIMARY KEY (seq),
	CONSTRAINT fk_prompts_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT uq_prompts_id UNIQUE (id)
);
INSERT INTO "prompts" VALUES(1,'prm_1','acc_1','Helper','You help.','gpt-4o',NULL,'[]',NULL,NULL,NULL,'active',0,0,NULL,1);
CREATE TABLE rate_windows (
	account_id VARCHAR(64) NOT NULL,
	window BIGINT NOT NULL,
	used INTEGER NOT NULL,
	CONSTRAINT pk_rate_windows PRIMARY KEY (account_id),
	CONSTRAINT fk_rate_windows_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id)
);
CREATE TABLE simulations (
	id VARCHAR(64) NOT NULL,
	account_id VARCHAR(64) NOT NULL,
	optimization_id VARCHAR(64) NOT NULL,
	cell INTEGER NOT NULL,
	arm INTEGER NOT NULL,
	pass INTEGER NOT NULL,
	stage VARCHAR(10) NOT NULL,
	status VARCHAR(10) NOT NULL,
	task_completed BOOLEAN,
	sentiment VARCHAR(10),
	sentiment_score FLOAT,
	quality FLOAT,
	turns INTEGER NOT NULL,
	ended_by VARCHAR(10),
	error TEXT,
	content BLOB,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_simulations PRIMARY KEY (optimization_id, cell, arm),
	CONSTRAINT fk_simulations_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_simulations_optimization_id_optimizations FOREIGN KEY(optimization_id) REFERENCES optimizations (id),
	CONSTRAINT uq_simulations_id UNIQUE (id)
);
INSERT INTO "simulations" VALUES('sim_0','acc_1','opt_1',0,0,2,'screening','completed',1,NULL,NULL,NULL,3,NULL,NULL,X'557365723A2068656C6C6F',0);
INSERT INTO "simulations" VALUES('sim_1','acc_1','opt_1',1,1,3,'screening','completed',1,NULL,NULL,NULL,3,NULL,NULL,X'557365723A2068656C6C6F',0);
CREATE TABLE singleton_jobs (
	seq INTEGER NOT NULL,
	id VARCHAR(64) NOT NULL,
	worker VARCHAR(100),
	CONSTRAINT pk_singleton_jobs PRIMARY KEY (seq),
	CONSTRAINT uq_singleton_jobs_id UNIQUE (id)
);
INSERT INTO "singleton_jobs" VALUES(1,'watch_deployments',NULL);
INSERT INTO "singleton_jobs" VALUES(2,'clean_up',NULL);
CREATE TABLE usage_counters (
	account_id VARCHAR(64) NOT NULL,
	period_start BIGINT NOT NULL,
	kind VARCHAR(20) NOT NULL,
	used BIGINT NOT NULL,
	CONSTRAINT pk_usage_counters PRIMARY KEY (account_id, period_start, kind),
	CONSTRAINT fk_usage_counters_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id)
);
CREATE TABLE variant_reviews (
	account_id VARCHAR(64) NOT NULL,
	optimization_id VARCHAR(64) NOT NULL,
	variant_id VARCHAR(64) NOT NULL,
	verdict VARCHAR(10),
	note TEXT,
	updated_at BIGINT NOT NULL,
	CONSTRAINT pk_variant_reviews PRIMARY KEY (optimization_id, variant_id),
	CONSTRAINT fk_variant_reviews_account_id_accounts FOREIGN KEY(account_id) REFERENCES accounts (id),
	CONSTRAINT fk_variant_reviews_optimization_id_optimizations FOREIGN KEY(optimization_id) REFERENCES optimizations (id)
);
CREATE TABLE workers (
	id VARCHAR(64) NOT NULL,
	lease_until BIGINT NOT NULL,
	problem TEXT,
	CONSTRAINT pk_workers PRIMARY KEY (id)
);
CREATE INDEX ix_api_keys_account_id ON api_keys (account_id);
CREATE INDEX ix_events_account_id ON events (account_id);
CREATE INDEX ix_events_subject_id ON events (subject_id);
CREATE INDEX ix_prompts_account_id_seq ON prompts (account_id, seq);
CREATE INDEX ix_conversations_account_id_prompt_id_seq ON conversations (account_id, prompt_id, seq);
CREATE INDEX ix_conversations_account_id_prompt_id_started_at ON conversations (account_id, prompt_id, started_at);
CREATE INDEX ix_conversations_account_id_seq ON conversations (account_id, seq);
CREATE INDEX ix_prompt_versions_prompt_id ON prompt_versions (prompt_id);
CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);
CREATE INDEX ix_personas_account_id ON personas (account_id);
CREATE INDEX ix_optimizations_account_id_seq ON optimizations (account_id, seq);
CREATE INDEX ix_optimizations_prompt_id_seq ON optimizations (prompt_id, seq);
CREATE INDEX ix_optimizations_status ON optimizations (status);
CREATE INDEX ix_deployments_optimization_id_seq ON deployments (optimization_id, seq);
CREATE INDEX ix_deployments_prompt_id_seq ON deployments (prompt_id, seq);
CREATE INDEX ix_deployments_state ON deployments (state);
CREATE INDEX ix_actions_account_id_seq ON actions (account_id, seq);
CREATE INDEX ix_actions_prompt_id_seq ON actions (prompt_id, seq);
CREATE INDEX ix_conversations_account_id_status_has_insights_seq ON conversations (account_id, status, has_insights, seq);
CREATE INDEX ix_conversations_account_id_prompt_id_status_has_insights_seq ON conversations (account_id, prompt_id, status, has_insights, seq);
CREATE INDEX ix_conversations_judging ON conversations (judging, judge_after) WHERE judging = 'pending' OR judging = 'claimed';
CREATE INDEX ix_conversations_account_id_prompt_id_source_id ON conversations (account_id, prompt_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX ix_conversations_account_id_prompt_id_judging ON conversations (account_id, prompt_id, judging) WHERE judge_problem IS NOT NULL;
COMMIT;
