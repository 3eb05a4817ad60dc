CREATE TABLE public.accounts (
    id character varying(64) NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    plan character varying(20) NOT NULL,
    settings text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.actions (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    optimization_id character varying(64),
    variant_id character varying(64),
    kind character varying(10) NOT NULL,
    from_version_seq bigint,
    to_version_seq bigint,
    note text,
    undoes character varying(64),
    undone_by character varying(64),
    undone_at bigint,
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.actions_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.actions_seq_seq OWNED BY public.actions.seq;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.api_keys (
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    name text NOT NULL,
    prefix character varying(20) NOT NULL,
    hash character varying(64) NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    revoked_at bigint
);
CREATE TABLE public.conversation_blocks (
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    block bigint NOT NULL,
    completed integer NOT NULL,
    completed_with_insights integer NOT NULL,
    abandoned integer NOT NULL,
    abandoned_with_insights integer NOT NULL,
    in_progress integer NOT NULL,
    in_progress_with_insights integer NOT NULL
);
CREATE TABLE public.conversation_contents (
    conversation_id character varying(64) NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE public.conversation_issues (
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    span bigint NOT NULL,
    start bigint NOT NULL,
    issue character varying(32) NOT NULL,
    title bytea NOT NULL,
    high bigint NOT NULL,
    medium bigint NOT NULL,
    low bigint NOT NULL,
    failed bigint NOT NULL
);
CREATE TABLE public.conversation_sums (
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    span bigint NOT NULL,
    start bigint NOT NULL,
    total bigint NOT NULL,
    completed bigint NOT NULL,
    abandoned bigint NOT NULL,
    messages bigint NOT NULL,
    responses bigint NOT NULL,
    response_seconds bigint NOT NULL,
    response_fractions bigint NOT NULL,
    judged bigint NOT NULL,
    task_completed bigint NOT NULL,
    positive bigint NOT NULL,
    neutral bigint NOT NULL,
    negative bigint NOT NULL,
    sentiment_fractions bigint NOT NULL
);
CREATE TABLE public.conversation_turns (
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    span bigint NOT NULL,
    start bigint NOT NULL,
    user_turns integer NOT NULL,
    judged bigint NOT NULL,
    failed bigint NOT NULL
);
CREATE TABLE public.conversations (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    status character varying(20) NOT NULL,
    llm_model text,
    company_name text,
    idempotency_key text,
    created_at bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    message_count integer NOT NULL,
    user_turns integer NOT NULL,
    response_seconds double precision,
    has_insights boolean NOT NULL,
    judging character varying(10) NOT NULL,
    generation integer NOT NULL,
    worker character varying(100),
    judge_after bigint NOT NULL,
    judge_attempts integer NOT NULL,
    judge_problem text,
    source_id text,
    content_hash character varying(64)
);
CREATE SEQUENCE public.conversations_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.conversations_seq_seq OWNED BY public.conversations.seq;
CREATE TABLE public.deployments (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    optimization_id character varying(64) NOT NULL,
    variant_id character varying(64) NOT NULL,
    state character varying(20) NOT NULL,
    origin character varying(20) NOT NULL,
    regression text,
    production text,
    verification character varying(20),
    checked integer NOT NULL,
    version_seq bigint,
    previous_version_seq bigint,
    applied_at bigint,
    rolled_back_at bigint,
    reason text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    worker character varying(100)
);
CREATE SEQUENCE public.deployments_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.deployments_seq_seq OWNED BY public.deployments.seq;
CREATE TABLE public.events (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    type character varying(40) NOT NULL,
    subject_id character varying(64) NOT NULL,
    data text NOT NULL,
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.events_seq_seq OWNED BY public.events.seq;
CREATE TABLE public.idempotency_keys (
    account_id character varying(64) NOT NULL,
    key text NOT NULL,
    conversation_id character varying(64) NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.insights (
    conversation_id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    id character varying(64) NOT NULL,
    generation integer NOT NULL,
    sentiment character varying(10) NOT NULL,
    sentiment_score double precision NOT NULL,
    task_completed boolean NOT NULL,
    document text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.optimization_cells (
    account_id character varying(64) NOT NULL,
    optimization_id character varying(64) NOT NULL,
    number integer NOT NULL,
    pass integer NOT NULL,
    stage character varying(10) NOT NULL,
    persona text NOT NULL,
    scenario text NOT NULL
);
CREATE TABLE public.optimization_variants (
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    optimization_id character varying(64) NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    content text NOT NULL,
    rationale text,
    created_at bigint NOT NULL
);
CREATE TABLE public.optimizations (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    status character varying(10) NOT NULL,
    mode character varying(20) NOT NULL,
    variant_count integer NOT NULL,
    intent text,
    persona_ids text,
    settings text NOT NULL,
    prompt text NOT NULL,
    seed bigint NOT NULL,
    rehearsal boolean NOT NULL,
    pool text,
    experiment text,
    results text,
    failure text,
    stop_reason text,
    model_calls bigint NOT NULL,
    tokens bigint NOT NULL,
    worker character varying(100),
    created_at bigint NOT NULL,
    started_at bigint,
    completed_at bigint
);
CREATE SEQUENCE public.optimizations_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.optimizations_seq_seq OWNED BY public.optimizations.seq;
CREATE TABLE public.personas (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    created_at bigint NOT NULL,
    deleted_at bigint
);
CREATE SEQUENCE public.personas_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.personas_seq_seq OWNED BY public.personas.seq;
CREATE TABLE public.prompt_versions (
    seq bigint NOT NULL,
    account_id character varying(64) NOT NULL,
    prompt_id character varying(64) NOT NULL,
    content text NOT NULL,
    origin character varying(20) NOT NULL,
    created_at bigint NOT NULL,
    optimization_id character varying(64),
    variant_id character varying(64),
    content_known boolean DEFAULT true NOT NULL
);
CREATE SEQUENCE public.prompt_versions_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.prompt_versions_seq_seq OWNED BY public.prompt_versions.seq;
CREATE TABLE public.prompts (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    name text NOT NULL,
    content text NOT NULL,
    llm_model text NOT NULL,
    description text,
    tags text NOT NULL,
    temperature double precision,
    max_tokens integer,
    objective text,
    status character varying(20) NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    content_known boolean DEFAULT true NOT NULL
);
CREATE SEQUENCE public.prompts_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.prompts_seq_seq OWNED BY public.prompts.seq;
CREATE TABLE public.rate_windows (
    account_id character varying(64) NOT NULL,
    "window" bigint NOT NULL,
    used integer NOT NULL
);
CREATE TABLE public.simulations (
    id character varying(64) NOT NULL,
    account_id character varying(64) NOT NULL,
    optimization_id character varying(64) NOT NULL,
    cell integer NOT NULL,
    arm integer NOT NULL,
    pass integer NOT NULL,
    stage character varying(10) NOT NULL,
    status character varying(10) NOT NULL,
    task_completed boolean,
    sentiment character varying(10),
    sentiment_score double precision,
    quality double precision,
    turns integer NOT NULL,
    ended_by character varying(10),
    error text,
    content bytea,
    created_at bigint NOT NULL
);
CREATE TABLE public.singleton_jobs (
    seq bigint NOT NULL,
    id character varying(64) NOT NULL,
    worker character varying(100)
);
CREATE SEQUENCE public.singleton_jobs_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.singleton_jobs_seq_seq OWNED BY public.singleton_jobs.seq;
CREATE TABLE public.usage_counters (
    account_id character varying(64) NOT NULL,
    period_start bigint NOT NULL,
    kind character varying(20) NOT NULL,
    used bigint NOT NULL
);
CREATE TABLE public.variant_reviews (
    account_id character varying(64) NOT NULL,
    optimization_id character varying(64) NOT NULL,
    variant_id character varying(64) NOT NULL,
    verdict character varying(10),
    note text,
    updated_at bigint NOT NULL
);
CREATE TABLE public.workers (
    id character varying(64) NOT NULL,
    lease_until bigint NOT NULL,
    problem text
);
ALTER TABLE ONLY public.actions ALTER COLUMN seq SET DEFAULT nextval('public.actions_seq_seq'::regclass);
ALTER TABLE ONLY public.conversations ALTER COLUMN seq SET DEFAULT nextval('public.conversations_seq_seq'::regclass);
ALTER TABLE ONLY public.deployments ALTER COLUMN seq SET DEFAULT nextval('public.deployments_seq_seq'::regclass);
ALTER TABLE ONLY public.events ALTER COLUMN seq SET DEFAULT nextval('public.events_seq_seq'::regclass);
ALTER TABLE ONLY public.optimizations ALTER COLUMN seq SET DEFAULT nextval('public.optimizations_seq_seq'::regclass);
ALTER TABLE ONLY public.personas ALTER COLUMN seq SET DEFAULT nextval('public.personas_seq_seq'::regclass);
ALTER TABLE ONLY public.prompt_versions ALTER COLUMN seq SET DEFAULT nextval('public.prompt_versions_seq_seq'::regclass);
ALTER TABLE ONLY public.prompts ALTER COLUMN seq SET DEFAULT nextval('public.prompts_seq_seq'::regclass);
ALTER TABLE ONLY public.singleton_jobs ALTER COLUMN seq SET DEFAULT nextval('public.singleton_jobs_seq_seq'::regclass);
INSERT INTO public.accounts VALUES ('acc_1', 'Support', 'owner@localhost', 'pro', '{}', 0);
INSERT INTO public.alembic_version VALUES ('0010');
INSERT INTO public.conversation_contents VALUES ('cnv_1', '\x557365723a2068656c6c6f0a417373697374616e743a206869');
INSERT INTO public.conversations VALUES (1, 'cnv_1', 'acc_1', 'prm_1', 'completed', NULL, NULL, NULL, 0, 0, 0, 2, 1, NULL, false, 'claimed', 1, 'wrk_gone', 0, 0, NULL, NULL, NULL);
INSERT INTO public.optimization_cells VALUES ('acc_1', 'opt_1', 0, 2, 'screening', '{}', '{}');
INSERT INTO public.optimization_cells VALUES ('acc_1', 'opt_1', 1, 3, 'screening', '{}', '{}');
INSERT INTO public.optimization_variants VALUES ('var_0', 'acc_1', 'opt_1', 0, 'variant 0', 'You help.', NULL, 0);
INSERT INTO public.optimization_variants VALUES ('var_1', 'acc_1', 'opt_1', 1, 'variant 1', 'You help.', NULL, 0);
INSERT INTO public.optimizations VALUES (1, 'opt_1', 'acc_1', 'prm_1', 'completed', 'standard', 2, NULL, NULL, '{}', '{}', 0, false, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, NULL, NULL);
INSERT INTO public.prompt_versions VALUES (1, 'acc_1', 'prm_1', 'You help.', 'created', 0, NULL, NULL, true);
INSERT INTO public.prompts VALUES (1, 'prm_1', 'acc_1', 'Helper', 'You help.', 'gpt-4o', NULL, '[]', NULL, NULL, NULL, 'active', 0, 0, NULL, true);
INSERT INTO public.simulations VALUES ('sim_0', 'acc_1', 'opt_1', 0, 0, 2, 'screening', 'completed', true, NULL, NULL, NULL, 3, NULL, NULL, '\x557365723a2068656c6c6f', 0);
INSERT INTO public.simulations VALUES ('sim_1', 'acc_1', 'opt_1', 1, 1, 3, 'screening', 'completed', true, NULL, NULL, NULL, 3, NULL, NULL, '\x557365723a2068656c6c6f', 0);
INSERT INTO public.singleton_jobs VALUES (1, 'watch_deployments', NULL);
INSERT INTO public.singleton_jobs VALUES (2, 'clean_up', NULL);
SELECT pg_catalog.setval('public.actions_seq_seq', 1, false);
SELECT pg_catalog.setval('public.conversations_seq_seq', 1, true);
SELECT pg_catalog.setval('public.deployments_seq_seq', 1, false);
SELECT pg_catalog.setval('public.events_seq_seq', 1, false);
SELECT pg_catalog.setval('public.optimizations_seq_seq', 1, true);
SELECT pg_catalog.setval('public.personas_seq_seq', 1, false);
SELECT pg_catalog.setval('public.prompt_versions_seq_seq', 1, true);
SELECT pg_catalog.setval('public.prompts_seq_seq', 1, true);
SELECT pg_catalog.setval('public.singleton_jobs_seq_seq', 2, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT pk_accounts PRIMARY KEY (id);
ALTER TABLE ONLY public.actions
    ADD CONSTRAINT pk_actions PRIMARY KEY (seq);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT pk_api_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.conversation_blocks
    ADD CONSTRAINT pk_conversation_blocks PRIMARY KEY (account_id, prompt_id, block);
ALTER TABLE ONLY public.conversation_contents
    ADD CONSTRAINT pk_conversation_contents PRIMARY KEY (conversation_id);
ALTER TABLE ONLY public.conversation_issues
    ADD CONSTRAINT pk_conversation_issues PRIMARY KEY (account_id, prompt_id, span, start, issue);
ALTER TABLE ONLY public.conversation_sums
    ADD CONSTRAINT pk_conversation_sums PRIMARY KEY (account_id, prompt_id, span, start);
ALTER TABLE ONLY public.conversation_turns
    ADD CONSTRAINT pk_conversation_turns PRIMARY KEY (account_id, prompt_id, span, start, user_turns);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT pk_conversations PRIMARY KEY (seq);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT pk_deployments PRIMARY KEY (seq);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (seq);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (account_id, key);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT pk_insights PRIMARY KEY (conversation_id);
ALTER TABLE ONLY public.optimization_cells
    ADD CONSTRAINT pk_optimization_cells PRIMARY KEY (optimization_id, number);
ALTER TABLE ONLY public.optimization_variants
    ADD CONSTRAINT pk_optimization_variants PRIMARY KEY (optimization_id, number);
ALTER TABLE ONLY public.optimizations
    ADD CONSTRAINT pk_optimizations PRIMARY KEY (seq);
ALTER TABLE ONLY public.personas
    ADD CONSTRAINT pk_personas PRIMARY KEY (seq);
ALTER TABLE ONLY public.prompt_versions
    ADD CONSTRAINT pk_prompt_versions PRIMARY KEY (seq);
ALTER TABLE ONLY public.prompts
    ADD CONSTRAINT pk_prompts PRIMARY KEY (seq);
ALTER TABLE ONLY public.rate_windows
    ADD CONSTRAINT pk_rate_windows PRIMARY KEY (account_id);
ALTER TABLE ONLY public.simulations
    ADD CONSTRAINT pk_simulations PRIMARY KEY (optimization_id, cell, arm);
ALTER TABLE ONLY public.singleton_jobs
    ADD CONSTRAINT pk_singleton_jobs PRIMARY KEY (seq);
ALTER TABLE ONLY public.usage_counters
    ADD CONSTRAINT pk_usage_counters PRIMARY KEY (account_id, period_start, kind);
ALTER TABLE ONLY public.variant_reviews
    ADD CONSTRAINT pk_variant_reviews PRIMARY KEY (optimization_id, variant_id);
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT pk_workers PRIMARY KEY (id);
ALTER TABLE ONLY public.actions
    ADD CONSTRAINT uq_actions_id UNIQUE (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT uq_api_keys_hash UNIQUE (hash);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT uq_conversations_id UNIQUE (id);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT uq_deployments_id UNIQUE (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT uq_events_id UNIQUE (id);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT uq_insights_id UNIQUE (id);
ALTER TABLE ONLY public.optimization_variants
    ADD CONSTRAINT uq_optimization_variants_id UNIQUE (id);
ALTER TABLE ONLY public.optimizations
    ADD CONSTRAINT uq_optimizations_id UNIQUE (id);
ALTER TABLE ONLY public.personas
    ADD CONSTRAINT uq_personas_id UNIQUE (id);
ALTER TABLE ONLY public.prompts
    ADD CONSTRAINT uq_prompts_id UNIQUE (id);
ALTER TABLE ONLY public.simulations
    ADD CONSTRAINT uq_simulations_id UNIQUE (id);
ALTER TABLE ONLY public.singleton_jobs
    ADD CONSTRAINT uq_singleton_jobs_id UNIQUE (id);
CREATE INDEX ix_actions_account_id_seq ON public.actions USING btree (account_id, seq);
CREATE INDEX ix_actions_prompt_id_seq ON public.actions USING btree (prompt_id, seq);
CREATE INDEX ix_api_keys_account_id ON public.api_keys USING btree (account_id);
CREATE INDEX ix_conversations_account_id_prompt_id_judging ON public.conversations USING btree (account_id, prompt_id, judging) WHERE (judge_problem IS NOT NULL);
CREATE INDEX ix_conversations_account_id_prompt_id_seq ON public.conversations USING btree (account_id, prompt_id, seq);
CREATE INDEX ix_conversations_account_id_prompt_id_source_id ON public.conversations USING btree (account_id, prompt_id, source_id) WHERE (source_id IS NOT NULL);
CREATE INDEX ix_conversations_account_id_prompt_id_started_at ON public.conversations USING btree (account_id, prompt_id, started_at);
CREATE INDEX ix_conversations_account_id_prompt_id_status_has_insights_seq ON public.conversations USING btree (account_id, prompt_id, status, has_insights, seq);
CREATE INDEX ix_conversations_account_id_seq ON public.conversations USING btree (account_id, seq);
CREATE INDEX ix_conversations_account_id_status_has_insights_seq ON public.conversations USING btree (account_id, status, has_insights, seq);
CREATE INDEX ix_conversations_judging ON public.conversations USING btree (judging, judge_after) WHERE (((judging)::text = 'pending'::text) OR ((judging)::text = 'claimed'::text));
CREATE INDEX ix_deployments_optimization_id_seq ON public.deployments USING btree (optimization_id, seq);
CREATE INDEX ix_deployments_prompt_id_seq ON public.deployments USING btree (prompt_id, seq);
CREATE INDEX ix_deployments_state ON public.deployments USING btree (state);
CREATE INDEX ix_events_account_id ON public.events USING btree (account_id);
CREATE INDEX ix_events_subject_id ON public.events USING btree (subject_id);
CREATE INDEX ix_idempotency_keys_expires_at ON public.idempotency_keys USING btree (expires_at);
CREATE INDEX ix_optimizations_account_id_seq ON public.optimizations USING btree (account_id, seq);
CREATE INDEX ix_optimizations_prompt_id_seq ON public.optimizations USING btree (prompt_id, seq);
CREATE INDEX ix_optimizations_status ON public.optimizations USING btree (status);
CREATE INDEX ix_personas_account_id ON public.personas USING btree (account_id);
CREATE INDEX ix_prompt_versions_prompt_id ON public.prompt_versions USING btree (prompt_id);
CREATE INDEX ix_prompts_account_id_seq ON public.prompts USING btree (account_id, seq);
ALTER TABLE ONLY public.actions
    ADD CONSTRAINT fk_actions_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.actions
    ADD CONSTRAINT fk_actions_prompt_id_prompts FOREIGN KEY (prompt_id) REFERENCES public.prompts(id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.conversation_contents
    ADD CONSTRAINT fk_conversation_contents_conversation_id_conversations FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT fk_conversations_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT fk_conversations_prompt_id_prompts FOREIGN KEY (prompt_id) REFERENCES public.prompts(id);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT fk_deployments_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT fk_deployments_optimization_id_optimizations FOREIGN KEY (optimization_id) REFERENCES public.optimizations(id);
ALTER TABLE ONLY public.deployments
    ADD CONSTRAINT fk_deployments_prompt_id_prompts FOREIGN KEY (prompt_id) REFERENCES public.prompts(id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT fk_events_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT fk_idempotency_keys_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT fk_idempotency_keys_conversation_id_conversations FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT fk_insights_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.insights
    ADD CONSTRAINT fk_insights_conversation_id_conversations FOREIGN KEY (conversation_id) REFERENCES public.conversations(id);
ALTER TABLE ONLY public.optimization_cells
    ADD CONSTRAINT fk_optimization_cells_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.optimization_cells
    ADD CONSTRAINT fk_optimization_cells_optimization_id_optimizations FOREIGN KEY (optimization_id) REFERENCES public.optimizations(id);
ALTER TABLE ONLY public.optimization_variants
    ADD CONSTRAINT fk_optimization_variants_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.optimization_variants
    ADD CONSTRAINT fk_optimization_variants_optimization_id_optimizations FOREIGN KEY (optimization_id) REFERENCES public.optimizations(id);
ALTER TABLE ONLY public.optimizations
    ADD CONSTRAINT fk_optimizations_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.optimizations
    ADD CONSTRAINT fk_optimizations_prompt_id_prompts FOREIGN KEY (prompt_id) REFERENCES public.prompts(id);
ALTER TABLE ONLY public.personas
    ADD CONSTRAINT fk_personas_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.prompt_versions
    ADD CONSTRAINT fk_prompt_versions_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.prompt_versions
    ADD CONSTRAINT fk_prompt_versions_prompt_id_prompts FOREIGN KEY (prompt_id) REFERENCES public.prompts(id);
ALTER TABLE ONLY public.prompts
    ADD CONSTRAINT fk_prompts_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.rate_windows
    ADD CONSTRAINT fk_rate_windows_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.simulations
    ADD CONSTRAINT fk_simulations_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.simulations
    ADD CONSTRAINT fk_simulations_optimization_id_optimizations FOREIGN KEY (optimization_id) REFERENCES public.optimizations(id);
ALTER TABLE ONLY public.usage_counters
    ADD CONSTRAINT fk_usage_counters_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.variant_reviews
    ADD CONSTRAINT fk_variant_reviews_account_id_accounts FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.variant_reviews
    ADD CONSTRAINT fk_variant_reviews_optimization_id_optimizations FOREIGN KEY (optimization_id) REFERENCES public.optimizations(id);
