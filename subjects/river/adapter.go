// River behind the contract: `adapter control` or `adapter worker`; README.md has its settings.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"leaseproof"
)

const rows = `
	SELECT asked.id, attempt::text, max_attempts::text, kind, args::text AS payload,
		errors[array_upper(errors, 1)]->>'error' AS last_error, left((scheduled_at <= now())::text, 1) AS due,
		CASE WHEN job.id IS NULL THEN 'absent' WHEN state = 'running' THEN 'running' WHEN state = 'completed' THEN 'done'
			WHEN state IN ('discarded', 'cancelled') THEN 'failed' ELSE 'queued' END AS state,
		CASE WHEN job.xmax::text = '0' THEN 'f' ELSE left((pg_xact_status(((pg_snapshot_xmax(pg_current_snapshot())::text::bigint
			>> 32 << 32) + job.xmax::text::bigint)::text::xid8) = 'in progress')::text, 1) END AS locked,
		split_part(holder, '#', 1) AS leased_by, left((until > now())::text, 1) AS lease_alive,
		left((until <= now())::text, 1) AS lease_expired, round(extract(epoch FROM until - now()), 3)::text AS lease_left
	FROM unnest($1::text[]) WITH ORDINALITY AS asked (id, n) LEFT JOIN river_job AS job ON job.id::text = asked.id
		LEFT JOIN LATERAL (SELECT attempted_by[array_upper(attempted_by, 1)], attempted_at + $2::interval)
			AS held (holder, until) ON state = 'running'
	ORDER BY n`

type object = map[string]any

var (
	ctx      = context.Background()
	tuned    = os.Getenv("LEASEPROOF_PROFILE") == "tuned"
	lease    = must(strconv.ParseFloat(os.Getenv("LEASEPROOF_LEASE"), 64))
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
	tx       pgx.Tx // the application's own, while one is open
	config   = configured()
	describe = object{
		"subject": "river", "version": "0.51.2", "protocol": 1,
		"ownership": "age-only", "beats": "nobody", "reclaim": "leader", "attempts": "claim",
		// The rescuer's tick; then the scheduler's, 5 s, after a start that is put off by up to 1 s, and a fetch.
		"lease": time.Hour.Seconds(), "reclaim_every": 30.0, "slack": 7.0,
		"drain":   object{"signal": "SIGTERM", "exit_codes": []int{0}},
		"options": []string{"max_attempts", "delay", "queue", "key", "transaction"},
		"columns": []string{"attempt", "max_attempts", "kind", "payload", "last_error", "due", "leased_by",
			"lease_alive", "lease_expired", "lease_left", "locked"},
		"hold": "SELECT id FROM river_job WHERE id = %s FOR UPDATE",
	}
	// A key is taken until its job is over; by default, until the record of it is gone.
	alive = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled}
)

type puppet struct {
	Job string `json:"job"`
	Key string `json:"key" river:"unique"`
}

func (puppet) Kind() string { return "puppet" }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func enqueue(request leaseproof.Request) (any, error) {
	ids, many := []string{}, []river.InsertManyParams{}
	for _, job := range request.Jobs {
		opts := &river.InsertOpts{Queue: job.Queue}
		if job.MaxAttempts != nil {
			opts.MaxAttempts = *job.MaxAttempts
		}
		if job.Delay != nil {
			opts.ScheduledAt = time.Now().Add(seconds(*job.Delay))
		}
		if job.Key != "" {
			opts.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: alive}
		}
		many = append(many, river.InsertManyParams{Args: puppet{job.Job, job.Key}, InsertOpts: opts})
	}
	insert := func() ([]*rivertype.JobInsertResult, error) { return client.InsertMany(ctx, many) }
	if tx != nil {
		insert = func() ([]*rivertype.JobInsertResult, error) { return client.InsertManyTx(ctx, tx, many) }
	}
	for _, each := range must(insert()) {
		ids = append(ids, fmt.Sprint(each.Job.ID))
	}
	return object{"ids": ids}, nil
}

func inspect(request leaseproof.Request) (any, error) {
	found, _ := pool.Query(ctx, rows, request.IDs, config.RescueStuckJobsAfter)
	return object{"rows": must(pgx.CollectRows(found, pgx.RowToMap))}, nil
}

func transaction(request leaseproof.Request) (_ any, err error) {
	switch {
	case request.Do == "begin":
		tx, err = pool.Begin(ctx)
	case tx != nil && request.Do == "commit": // there is nothing to commit after a rollback
		err, tx = tx.Commit(ctx), nil
	case tx != nil:
		err, tx = tx.Rollback(ctx), nil
	}
	return nil, err
}

func execute(request leaseproof.Request) (any, error) {
	must(tx.Exec(ctx, request.Statement))
	return nil, nil
}

func prepare(leaseproof.Request) (any, error) {
	migrator := must(rivermigrate.New(riverpgxv5.New(pool), nil))
	must(migrator.Migrate(ctx, rivermigrate.DirectionUp, nil))
	return nil, nil
}

func main() {
	settings := must(pgxpool.ParseConfig(os.Getenv("LEASEPROOF_POSTGRES")))
	if os.Args[1] == "worker" {
		pool = must(pgxpool.NewWithConfig(ctx, settings))
		work(must(river.NewClient(riverpgxv5.New(pool), config)))
		return
	}
	// Nothing of the queue's hangs on it: the bench's own questions are not to fail when a connection was cut.
	settings.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	pool = must(pgxpool.NewWithConfig(ctx, settings))
	client = must(river.NewClient(riverpgxv5.New(pool), &river.Config{Workers: config.Workers, Logger: config.Logger}))
	if tuned { // What its age may be beyond the lease is in the slack.
		describe["lease"], describe["slack"] = lease, 7.0+config.RescueStuckJobsAfter.Seconds()-lease
		describe["options"] = append(describe["options"].([]string), "backoff", "grace")
	}
	must(0, leaseproof.Control(leaseproof.Requests{
		"describe": func(leaseproof.Request) (any, error) { return describe, nil }, "prepare": prepare,
		"enqueue": enqueue, "inspect": inspect, "transaction": transaction, "execute": execute,
		"reclaim": func(leaseproof.Request) (any, error) { return object{"ids": nil}, nil },
	}))
}
