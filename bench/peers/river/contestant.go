package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// payload is the payload of every contestant's jobs.
type payload struct {
	T      float64 `json:"t"`
	Fail   bool    `json:"fail,omitempty"`
	Tenant int     `json:"tenant"`
	Pad    string  `json:"pad,omitempty"`
}

func (payload) Kind() string { return "bench" }

type contestant struct {
	settings settings
	logger   *slog.Logger
	measures *measures
	running  []running
	// Enqueueing has separate connections: one for each concurrent call.
	sender     *river.Client[pgx.Tx]
	senderPool *pgxpool.Pool
	senders    int
}

// running is a started worker: a client with its own connections.
type running struct {
	client *river.Client[pgx.Tx]
	pool   *pgxpool.Pool
}

func newContestant() (*contestant, error) {
	chosen, err := settingsOf(os.Getenv("BENCH_SETTINGS"))
	if err != nil {
		return nil, err
	}
	// River's default logger writes to stdout, which is for replies only.
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return &contestant{settings: chosen, logger: logger, measures: &measures{}}, nil
}

func (c *contestant) prepare(ctx context.Context) (reply, error) {
	pool, err := openPool(ctx, c.settings.workerPool)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: c.logger})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	return reply{
		"version":  riverVersion(),
		"keeps":    "finished jobs in the same table with arguments and errors, for 24 hours",
		"settings": c.settings.text,
	}, nil
}

func (c *contestant) work(ctx context.Context, asked *request) (reply, error) {
	if asked.Limit != nil {
		return nil, unsupported("concurrency limits across workers are only in River Pro")
	}
	workers := max(1, asked.Workers)
	for range workers {
		if err := c.startWorker(ctx, asked); err != nil {
			return nil, err
		}
	}
	return reply{"workers": workers}, nil
}

func (c *contestant) startWorker(ctx context.Context, asked *request) error {
	maxWorkers := c.settings.maxWorkers
	if asked.Concurrency != nil {
		maxWorkers = *asked.Concurrency
	}
	handlers := river.NewWorkers()
	river.AddWorker(handlers, &worker{
		measures: c.measures,
		sleep:    time.Duration(asked.SleepMs * float64(time.Millisecond)),
	})
	pool, err := openPool(ctx, c.settings.workerPool)
	if err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown:     c.settings.fetchCooldown,
		FetchPollInterval: c.settings.fetchPollInterval,
		Logger:            c.logger,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		RetryPolicy:       atOnce{},
		Workers:           handlers,
	})
	if err == nil {
		err = client.Start(ctx)
	}
	if err != nil {
		pool.Close()
		return err
	}
	c.running = append(c.running, running{client, pool})
	return nil
}

// stop waits for running jobs. River's completer writes all pending ends before Stop returns.
func (c *contestant) stop(ctx context.Context) error {
	stopping := c.running
	c.running = nil
	return together(len(stopping), func(n int) error {
		defer stopping[n].pool.Close()
		return stopping[n].client.Stop(ctx)
	})
}

func (c *contestant) close(ctx context.Context) {
	if err := c.stop(ctx); err != nil {
		c.logger.Error("could not stop the workers", "err", err)
	}
	if c.senderPool != nil {
		c.senderPool.Close()
	}
}

// atOnce retries without delay. River makes a job available immediately if its retry is due before the next run of the
// scheduler.
type atOnce struct{}

func (atOnce) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

var errFirstExecution = errors.New("this job is meant to fail on its first execution")

type worker struct {
	river.WorkerDefaults[payload]
	measures *measures
	sleep    time.Duration
}

func (w *worker) Work(_ context.Context, job *river.Job[payload]) error {
	began := epochMs()
	if job.Attempt == 1 {
		w.measures.wait(job.Args.Tenant, began-job.Args.T)
		if job.Args.Fail {
			return errFirstExecution
		}
	}
	if w.sleep > 0 {
		time.Sleep(w.sleep)
	}
	w.measures.ended(began)
	return nil
}
