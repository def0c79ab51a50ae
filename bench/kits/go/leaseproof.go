// Package leaseproof is the Go kit: the puppet, the worker's own line, and the control loop. Copy this one file.
//
// Go 1.19 or newer, standard library only. docs/protocol.md has what goes over the lines: one JSON object each, both
// ways. The witness's address, the arm's token and the worker's name come from the environment that the bench gives.
//
//	a worker's handler      err := leaseproof.Obey(ctx, job, attempt, leaseproof.Tools{})
//	when it takes jobs      line, err := leaseproof.Ready(), and then line.Renewed(...), line.Outcome(...)
//	the control process     err := leaseproof.Control(leaseproof.Requests{"enqueue": enqueue})
package leaseproof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// OrderedFailure is a failure that the witness ordered. Kind is transient, permanent or rate-limited; RetryIn may be 0.
type OrderedFailure struct {
	Kind, Text string
	RetryIn    time.Duration
}

func (f *OrderedFailure) Error() string { return f.Text }

// Unable is an order that this adapter, or this kit, can't obey: the adapter's fault, and the witness is told so.
type Unable string

func (u Unable) Error() string { return string(u) }

// Tools are what a queue gives its handlers, where it gives anything; a puppet that is ordered to use it does.
type Tools struct {
	Key        string                                                // the job's idempotency key
	Lost       func() bool                                           // whether the job is not this worker's any more
	Once       func(key string, effect func(first bool) error) error // says whether an effect is the first of its key
	Connection func() (release func(), err error)                    // takes one of the handlers' pool
	Tick       string                                                // the tick of the schedule that the job is for
}

type fields map[string]any

// Line is one connection to the witness; its first message says who is speaking.
type Line struct {
	conn  net.Conn
	mutex sync.Mutex
}

func dial(ctx context.Context, event string, hello fields) (*Line, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv("LEASEPROOF_WITNESS"))
	if err != nil {
		return nil, err
	}
	hello["token"] = os.Getenv("LEASEPROOF_TOKEN")
	hello["worker"] = os.Getenv("LEASEPROOF_WORKER")
	hello["pid"] = os.Getpid()
	line := &Line{conn: conn}
	return line, line.say(event, hello)
}

// say sends one message; safe from several goroutines.
func (l *Line) say(event string, message fields) error {
	message["event"] = event
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, err = l.conn.Write(append(text, '\n'))
	return err
}

// Ready says that this worker takes jobs from now on. Keep the line as long as the process lives.
func Ready() (*Line, error) { return dial(context.Background(), "ready", fields{}) }

// Renewed: a heartbeat was answered. Which jobs, by the bench's names, are still this worker's, and which are not.
func (l *Line) Renewed(kept, lost []string) error {
	return l.say("renewed", fields{"kept": list(kept), "lost": list(lost)})
}

// Outcome: the queue took the finish of a job, or refused it. The attempt is 0 where it is not known.
func (l *Line) Outcome(job string, attempt int, accepted bool) error {
	return l.say("outcome", fields{"job": job, "attempt": known(attempt), "accepted": accepted})
}

// Reclaimed: a reclaim of the worker's own put these jobs back, by the queue's ids.
func (l *Line) Reclaimed(ids []string) error { return l.say("reclaimed", fields{"ids": list(ids)}) }

// Close hangs up.
func (l *Line) Close() error { return l.conn.Close() }

func list(values []string) []string { return append([]string{}, values...) } // never null

func known(attempt int) *int {
	if attempt == 0 {
		return nil
	}
	return &attempt
}

// order is what the witness orders.
type order struct {
	Order, Key, Guard, Kind, Text string
	RetryIn                       float64 `json:"retry_in"`
	Seconds                       float64
	Status                        int
}

// Obey runs one job as the witness orders, and returns when it says finish.
//
// The job's name is the one that the bench put into the payload; attempt counts from 1, and is 0 where the queue does
// not know it. A job heeds ctx, and ends with its error. It ends with an *OrderedFailure when the witness orders a
// failure, with an Unable when it orders what can't be done, and with what ended the connection when it is gone.
func Obey(ctx context.Context, job string, attempt int, tools Tools) error {
	hello := fields{"job": job, "attempt": known(attempt)}
	if tools.Tick != "" {
		hello["tick"] = tools.Tick
	}
	line, err := dial(ctx, "started", hello)
	if err != nil {
		return err
	}
	defer line.Close()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-ctx.Done():
			line.conn.SetReadDeadline(time.Now()) // which ends the wait for an order, and nothing else
		case <-over:
		}
	}()
	for orders := bufio.NewReader(line.conn); ; {
		text, err := orders.ReadBytes('\n')
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil { // Half an order is none.
			return fmt.Errorf("the witness hung up in the middle of a job: %w", err)
		}
		var next order
		if err := json.Unmarshal(text, &next); err != nil {
			return err
		}
		if next.Order == "finish" {
			return line.say("finished", fields{})
		}
		if next.Order == "borrow" && tools.Connection != nil {
			release, err := tools.Connection()
			if err != nil {
				return err
			}
			defer release() // It is kept to the end of the job.
		}
		err = line.follow(ctx, next, tools)
		if unable := Unable(""); errors.As(err, &unable) {
			line.say("unable", fields{"text": unable})
		}
		if err != nil {
			return err
		}
	}
}

// follow does what is ordered, up to the end of the job.
func (l *Line) follow(ctx context.Context, order order, tools Tools) error {
	lasts := seconds(order.Seconds)
	switch order.Order {
	case "fail":
		if err := l.say("raised", fields{"error": order.Text}); err != nil {
			return err
		}
		return &OrderedFailure{order.Kind, order.Text, seconds(order.RetryIn)}
	case "effect":
		return l.effect(order.Key, order.Guard, tools)
	case "borrow":
		if tools.Connection == nil {
			return Unable("this adapter gives its handlers no connection")
		}
		return l.say("borrowed", fields{})
	case "clock":
		return l.say("clock", fields{"wall": float64(time.Now().UnixMicro()) / 1e6})
	case "sleep":
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
			return ctx.Err()
		}
	case "spin":
		for start := time.Now(); time.Since(start) < lasts; {
		}
	case "block":
		time.Sleep(lasts)
	case "exit":
		os.Exit(order.Status)
	case "hold":
	default:
		return Unable(fmt.Sprintf("this kit does not know the order %q", order.Order))
	}
	return nil
}

// effect makes an effect, guarded as it is ordered.
func (l *Line) effect(key, guard string, tools Tools) error {
	effect := func(first bool) error {
		if first {
			return l.say("effect", fields{"key": key})
		}
		return l.say("withheld", fields{"key": key})
	}
	switch {
	case guard == "":
		return effect(true)
	case guard == "key" && tools.Key != "":
		return l.say("effect", fields{"key": key, "under": tools.Key})
	case guard == "once" && tools.Once != nil:
		return tools.Once(key, effect)
	case guard == "owner" && tools.Lost != nil:
		return effect(!tools.Lost())
	}
	return Unable(fmt.Sprintf("this adapter, or this kit, has nothing for the guard %q", guard))
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

// Request is what the bench asks for. Raw is all of it as it came, for what has no field here.
type Request struct {
	ID            json.RawMessage
	Request       string
	Jobs          []Job
	IDs           []string
	Do, Statement string
	Raw           json.RawMessage `json:"-"`
}

// Job is one that is to be enqueued; what it is not given is nil, or empty.
type Job struct {
	Job         string
	MaxAttempts *int `json:"max_attempts"`
	Priority    *int
	Delay       *float64 // in seconds
	Queue, Key  string
	Version     int
}

// Requests are the functions that answer, by the names of the requests.
type Requests map[string]func(Request) (any, error)

// Control answers the bench's requests, until it says stop or closes stdin: one function each, by its name.
//
// What a function returns is the answer, written as a JSON object (nil: an empty one); an error or a panic becomes its
// `error`, and a panic's stack goes to the log. So does all that is printed: from now on, stdout is for answers alone.
func Control(requests Requests) error {
	answers := os.Stdout
	os.Stdout = os.Stderr
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		request := Request{Raw: line}
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		reply := fields{"id": request.ID}
		if answer, err := requests.answer(request); err != nil {
			reply["error"] = err.Error()
		} else {
			reply["answer"] = answer
		}
		if err := json.NewEncoder(answers).Encode(reply); err != nil || request.Request == "stop" {
			return err
		}
	}
}

func (r Requests) answer(request Request) (text json.RawMessage, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			debug.PrintStack()
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	var answer any
	if function := r[request.Request]; function != nil {
		answer, err = function(request)
	} else if request.Request != "stop" {
		err = fmt.Errorf("this adapter has no `%s`", request.Request)
	}
	if err != nil {
		return nil, err
	}
	if answer == nil {
		answer = fields{}
	}
	return json.Marshal(answer)
}
