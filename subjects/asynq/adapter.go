// asynq behind the contract: `adapter control` or `adapter worker`; README.md has its settings.
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
	"github.com/redis/go-redis/v9"

	"leaseproof"
)

type object = map[string]any

var (
	tuned    = os.Getenv("LEASEPROOF_PROFILE") == "tuned"
	address  = must(asynq.ParseRedisURI(os.Getenv("LEASEPROOF_REDIS")))
	states   = map[asynq.TaskState]string{asynq.TaskStateActive: "running", asynq.TaskStateArchived: "failed", asynq.TaskStateCompleted: "done"}
	describe = object{
		"subject": "asynq", "version": "0.26.0", "protocol": 1,
		"ownership": "lease-and-heartbeat", "beats": "runtime", "reclaim": "automatic", "attempts": "failure",
		// A lease must have been over for 30 s; the task then waits for its retry, and for the looks of a forwarder and
		// of a server that is idle.
		"lease": 30.0, "reclaim_every": 60.0, "slack": 30.0 + 44.0 + 5.0 + 1.5, "retry_after": 1.0 + 15.0 + 58.0,
		"drain":   object{"signal": "SIGTERM", "exit_codes": []int{0}},
		"options": []string{"max_attempts", "delay", "queue"},
		"columns": []string{"attempt", "max_attempts", "kind", "payload", "last_error", "due", "lease_alive",
			"lease_expired", "lease_left"},
	}
	queues = map[string]string{} // where each task was put
)

type payload struct {
	Job string `json:"job"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func letter(yes bool) string { return fmt.Sprint(yes)[:1] }

func enqueue(client *asynq.Client, request leaseproof.Request) (any, error) {
	ids := []string{}
	for _, job := range request.Jobs {
		queue := cmp.Or(job.Queue, "default")
		options := []asynq.Option{asynq.Queue(queue)}
		if tuned {
			options = append(options, asynq.Retention(time.Hour))
		}
		if job.MaxAttempts != nil {
			options = append(options, asynq.MaxRetry(*job.MaxAttempts-1))
		}
		if job.Delay != nil {
			options = append(options, asynq.ProcessIn(seconds(*job.Delay)))
		}
		task := must(client.Enqueue(asynq.NewTask("puppet", must(json.Marshal(payload{job.Job})), options...)))
		ids, queues[task.ID] = append(ids, task.ID), queue
	}
	return object{"ids": ids}, nil
}

func row(inspector *asynq.Inspector, leases redis.UniversalClient, id string) object {
	queue := cmp.Or(queues[id], "default")
	task, err := inspector.GetTaskInfo(queue, id)
	row := object{"id": id, "state": "absent"}
	for _, column := range describe["columns"].([]string) {
		row[column] = nil
	}
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return row
	}
	must(task, err)
	row["state"], row["kind"], row["payload"] = cmp.Or(states[task.State], "queued"), task.Type, string(task.Payload)
	row["attempt"], row["max_attempts"] = fmt.Sprint(task.Retried), fmt.Sprint(task.MaxRetry+1)
	row["due"] = letter(!task.NextProcessAt.After(time.Now()))
	if task.LastErr != "" {
		row["last_error"] = task.LastErr
	}
	until, err := leases.ZScore(context.Background(), fmt.Sprintf("asynq:{%s}:lease", queue), id).Result()
	if err == nil {
		left := until - float64(time.Now().UnixMilli())/1000
		row["lease_alive"], row["lease_expired"], row["lease_left"] = letter(left > 0), letter(left <= 0), fmt.Sprintf("%.3f", left)
	}
	return row
}

func main() {
	if os.Args[1] == "worker" {
		work()
		return
	}
	if tuned {
		describe["slack"], describe["retry_after"] = 30.0+wait+1.0, wait
		describe["options"] = append(describe["options"].([]string), "backoff", "grace")
	}
	client, inspector := asynq.NewClient(address), asynq.NewInspector(address)
	leases := address.MakeRedisClient().(redis.UniversalClient)
	must(0, leaseproof.Control(leaseproof.Requests{
		"describe": func(leaseproof.Request) (any, error) { return describe, nil },
		"prepare":  func(leaseproof.Request) (any, error) { return nil, nil },
		"enqueue":  func(request leaseproof.Request) (any, error) { return enqueue(client, request) },
		"inspect": func(request leaseproof.Request) (any, error) {
			rows := []object{}
			for _, id := range request.IDs {
				rows = append(rows, row(inspector, leases, id))
			}
			return object{"rows": rows}, nil
		},
		"reclaim": func(leaseproof.Request) (any, error) { return object{"ids": nil}, nil },
	}))
}
