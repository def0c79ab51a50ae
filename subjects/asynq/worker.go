package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hibiken/asynq"

	"leaseproof"
)

const wait = 1.0 // seconds before a retry, where the bench asks for no other

func handle(ctx context.Context, task *asynq.Task) error {
	var payload payload
	if err := json.Unmarshal(task.Payload(), &payload); err != nil {
		return fmt.Errorf("%v: %w", err, asynq.SkipRetry)
	}
	retried, _ := asynq.GetRetryCount(ctx)
	err := leaseproof.Obey(ctx, payload.Job, retried+1, leaseproof.Tools{})
	if failure := new(leaseproof.OrderedFailure); errors.As(err, &failure) && failure.Kind == "permanent" {
		return fmt.Errorf("%v: %w", err, asynq.SkipRetry)
	}
	return err
}

func work() {
	var options struct {
		Slots   int
		Poll    float64
		Grace   *float64
		Queue   string
		Backoff *[2]float64
	}
	must(0, json.Unmarshal([]byte(os.Getenv("LEASEPROOF_OPTIONS")), &options))
	config := asynq.Config{Concurrency: options.Slots, Queues: map[string]int{cmp.Or(options.Queue, "default"): 1}}
	if tuned {
		config.TaskCheckInterval, config.DelayedTaskCheckInterval = seconds(options.Poll), seconds(options.Poll)
		config.ShutdownTimeout = 24 * time.Hour // for as long as it takes
		if options.Grace != nil {
			config.ShutdownTimeout = max(seconds(*options.Grace), time.Nanosecond)
		}
		waits := [2]float64{wait, wait}
		if options.Backoff != nil {
			waits = *options.Backoff
		}
		config.RetryDelayFunc = func(retried int, _ error, task *asynq.Task) time.Duration {
			return seconds(min(waits[0]*float64(int(1)<<min(retried, 16)), waits[1]))
		}
	}
	mux := asynq.NewServeMux()
	mux.HandleFunc("puppet", handle)
	server := asynq.NewServer(address, config)
	line := must(leaseproof.Ready())
	must(0, server.Run(mux))
	line.Close()
}
