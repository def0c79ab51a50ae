-- The schema of the queue, in named blocks. Queue.install() runs them in this order, in one transaction;
-- each block can be run again without harm.

-- name: table
-- One row is one job, from its enqueue until after its end.
CREATE TABLE IF NOT EXISTS jobs (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue        text        NOT NULL DEFAULT 'default',
    kind         text        NOT NULL,                -- names the handler
    payload      jsonb       NOT NULL DEFAULT '{}',
    state        text        NOT NULL DEFAULT 'queued'
                             CONSTRAINT jobs_state_check CHECK (state IN ('queued', 'running', 'done', 'failed')),
    priority     int         NOT NULL DEFAULT 0,      -- higher goes first
    run_at       timestamptz NOT NULL DEFAULT now(),  -- not claimed before
    attempt      int         NOT NULL DEFAULT 0,      -- claims that count against max_attempts
    max_attempts int         NOT NULL DEFAULT 3
                             CONSTRAINT jobs_max_attempts_check CHECK (max_attempts > 0),
    claim        bigint      NOT NULL DEFAULT 0,      -- the fence: one more at each claim, never fewer
    leased_until timestamptz,                         -- once past, a reclaim may take the job back
    leased_by    text,                                -- name of the worker
    last_error   text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz                          -- when the job became done or failed
) WITH (
    -- Every job is updated several times: half-empty pages keep the heartbeats' updates within their page (HOT).
    fillfactor = 50,
    -- Vacuum by churn, not by size: the dead rows of a queue are many, its live rows few.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

-- name: lease_check
-- A job is leased exactly while it is running, so a reclaim can neither miss a job nor invent one.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_constraint WHERE conrelid = 'jobs'::regclass AND conname = 'jobs_lease_check'
    ) THEN
        ALTER TABLE jobs ADD CONSTRAINT jobs_lease_check CHECK (
            (leased_until IS NOT NULL) = (state = 'running') AND (leased_by IS NOT NULL) = (state = 'running')
        );
    END IF;
END
$$;

-- name: indexes
-- The claim reads the first, in its own order; the reclaim the second. Neither holds finished jobs, and neither holds
-- leased_until: an index on it would be rewritten by every heartbeat.
CREATE INDEX IF NOT EXISTS jobs_ready ON jobs (queue, priority DESC, run_at, id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS jobs_running ON jobs (id) WHERE state = 'running';
