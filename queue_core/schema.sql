-- The schema of the queue, in named blocks. Queue, Scheduler and Once install theirs in this order, in one transaction;
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
    version      int         NOT NULL DEFAULT 1,      -- of the payload: a worker claims only what it can read
    key          text,                                -- at most one job of a key is alive at a time
    priority     int         NOT NULL DEFAULT 0,      -- each point is worth Queue.aging seconds of waiting
    run_at       timestamptz NOT NULL DEFAULT now(),  -- not claimed before
    turn         timestamptz NOT NULL DEFAULT now(),  -- the order of the claims: run_at, less what priority is worth
    attempt      int         NOT NULL DEFAULT 0,      -- claims that count against max_attempts
    max_attempts int         NOT NULL DEFAULT 3
                             CONSTRAINT jobs_max_attempts_check CHECK (max_attempts > 0),
    claim        bigint      NOT NULL DEFAULT 0,      -- the fence: one more at each claim, never fewer
    leased_until timestamptz,                         -- once past, a reclaim may take the job back
    leased_by    text,                                -- name of the worker
    claimed_at   timestamptz,                         -- when the latest claim was made
    recovered    int         NOT NULL DEFAULT 0,      -- how often a reclaim took the job back
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

-- name: live_key
-- While a job is queued or running nobody can put in another one of its key. Once it has ended, the key is free.
CREATE UNIQUE INDEX IF NOT EXISTS jobs_live_key ON jobs (key) WHERE key IS NOT NULL AND state IN ('queued', 'running');

-- name: indexes
-- The claim reads the first, in its own order, and passes over what is not due without a look at the table; the reclaim
-- reads the second. Neither holds finished jobs, and neither holds leased_until: every heartbeat would rewrite it.
CREATE INDEX IF NOT EXISTS jobs_ready ON jobs (queue, turn, id, run_at) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS jobs_running ON jobs (id) WHERE state = 'running';
-- The metrics read the ends from the latest on, the retention from the oldest on; few jobs are ever taken back.
CREATE INDEX IF NOT EXISTS jobs_ended ON jobs (state, finished_at) WHERE state IN ('done', 'failed');
CREATE INDEX IF NOT EXISTS jobs_recovered ON jobs (recovered) WHERE recovered > 0;

-- name: ticks
-- One row is one moment at which a schedule came due, and was fired.
CREATE TABLE IF NOT EXISTS ticks (
    schedule text        NOT NULL,
    tick     timestamptz NOT NULL,
    job      bigint                                   -- what it put into the queue; NULL only until it commits
);
CREATE INDEX IF NOT EXISTS ticks_by_age ON ticks (tick);

-- name: tick_key
-- No tick is fired twice, whoever fires it.
CREATE UNIQUE INDEX IF NOT EXISTS ticks_key ON ticks (schedule, tick);

-- name: effects
-- One row is one effect that was made. The key lets each be made once, whoever makes it.
CREATE TABLE IF NOT EXISTS effects (
    key     text        PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);
