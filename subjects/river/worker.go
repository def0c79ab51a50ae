package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"leaseproof"
)

type worker struct{ river.WorkerDefaults[puppet] }

func (*worker) Work(ctx context.Context, job *river.Job[puppet]) error {
	err := leaseproof.Obey(ctx, job.Args.Job, job.Attempt, leaseproof.Tools{})
	if failure := new(leaseproof.OrderedFailure); errors.As(err, &failure) && failure.Kind == "permanent" {
		return river.JobCancel(failure)
	} else if failure.Kind == "rate-limited" {
		return river.JobSnooze(failure.RetryIn)
	}
	return err
}

// waits are the first and the longest between two attempts; each is twice the one before.
type waits [2]float64

func (w waits) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(seconds(min(w[0]*float64(int(1)<<min(job.Attempt-1, 16)), w[1])))
}

// configured is the quick start's configuration, or, tuned, one for the bench's lease.
func configured() *river.Config {
	var options struct {
		Slots   int
		Poll    float64
		Grace   *float64
		Queue   string
		Backoff *waits
	}
	json.Unmarshal([]byte(os.Getenv("LEASEPROOF_OPTIONS")), &options)
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	config := &river.Config{
		Logger:               slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Queues:               map[string]river.QueueConfig{cmp.Or(options.Queue, river.QueueDefault): {MaxWorkers: max(options.Slots, 1)}},
		RescueStuckJobsAfter: time.Hour, // as it is by default
		SoftStopTimeout:      10 * time.Second,
		Workers:              workers,
	}
	if tuned {
		config.ID = fmt.Sprintf("%s#%d", os.Getenv("LEASEPROOF_WORKER"), os.Getpid())
		config.FetchPollInterval = seconds(options.Poll)
		config.FetchCooldown = min(config.FetchPollInterval, river.FetchCooldownDefault)
		config.JobTimeout, config.RescueStuckJobsAfter = seconds(lease*1.05), seconds(lease*1.1)
		config.SoftStopTimeout = 0 // for as long as it takes
		if options.Grace != nil {
			config.SoftStopTimeout = max(seconds(*options.Grace), time.Nanosecond)
		}
		config.RetryPolicy = waits{lease, lease}
		if options.Backoff != nil {
			config.RetryPolicy = options.Backoff
		}
	}
	return config
}

func work(client *river.Client[pgx.Tx]) {
	told, _ := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	must(0, client.Start(ctx))
	line := must(leaseproof.Ready())
	<-told.Done()
	must(0, client.Stop(ctx))
	line.Close()
}
