// The worker program of the Go kit; ../../cases.py says what it does. A SIGTERM cancels its jobs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"leaseproof"
)

type object map[string]any

var (
	mutex sync.Mutex
	keys  = map[string]bool{}
	asked int
)

func say(message object) {
	mutex.Lock()
	defer mutex.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(message); err != nil {
		log.Fatal(err)
	}
}

func lost() bool {
	asked++
	return asked > 1
}

func once(key string, effect func(first bool) error) error {
	first := !keys[key]
	keys[key] = true
	return effect(first)
}

func run(ctx context.Context, job string, attempt int, tools leaseproof.Tools) {
	err := leaseproof.Obey(ctx, job, attempt, tools)
	var failure *leaseproof.OrderedFailure
	switch {
	case err == nil:
		say(object{"job": job, "end": "returned"})
	case errors.As(err, &failure):
		var retryIn *float64
		if seconds := failure.RetryIn.Seconds(); seconds > 0 {
			retryIn = &seconds
		}
		say(object{"job": job, "end": "failed", "kind": failure.Kind, "text": failure.Text, "retry_in": retryIn})
	default:
		say(object{"job": job, "end": "error", "text": err.Error()})
	}
}

func line() error {
	line, err := leaseproof.Ready()
	if err != nil {
		return err
	}
	defer line.Close()
	for _, err := range []error{
		line.Renewed([]string{"job", "задача"}, []string{"other"}),
		line.Outcome("job", 2, true),
		line.Outcome("job", 0, false),
		line.Reclaimed([]string{"2", "3"}),
	} {
		if err != nil {
			return err
		}
	}
	_, err = io.ReadAll(os.Stdin)
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	what, jobs := os.Args[1], os.Args[2:]
	switch what {
	case "line":
		if err := line(); err != nil {
			log.Fatal(err)
		}
		return
	case "bare":
		run(ctx, jobs[0], 0, leaseproof.Tools{})
		return
	}
	var running sync.WaitGroup
	for index, job := range jobs {
		index, job := index, job
		tools := leaseproof.Tools{Key: "key of " + job, Lost: lost, Once: once}
		tools.Connection = func() (func(), error) {
			say(object{"job": job, "connection": "taken"})
			return func() { say(object{"job": job, "connection": "back"}) }, nil
		}
		if what == "tick" {
			tools.Tick = "2026-10-03T12:00:00+00:00"
		}
		running.Add(1)
		go func() {
			defer running.Done()
			run(ctx, job, index+1, tools)
		}()
		if what != "together" {
			running.Wait()
		}
	}
	running.Wait()
}
