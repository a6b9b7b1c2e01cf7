package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// producers is the maximum number of concurrent calls of `produce`.
const producers = 20

// bulkBytes is the size limit of one bulk call.
const bulkBytes = 8 << 20

// maker makes the jobs of one request. It decides the tenant of the n-th job and whether the job is meant to fail.
type maker struct {
	asked *request
	pad   string
	opts  *river.InsertOpts
}

func newMaker(asked *request) *maker {
	made := &maker{asked: asked, pad: strings.Repeat("x", asked.PayloadBytes)}
	if asked.DelaySeconds > 0 {
		due := time.Now().Add(time.Duration(asked.DelaySeconds * float64(time.Second)))
		made.opts = &river.InsertOpts{ScheduledAt: due}
	}
	return made
}

func (m *maker) job(n int) river.InsertManyParams {
	tenant := 0
	if m.asked.TenantFrom != nil {
		tenant = *m.asked.TenantFrom
	}
	if m.asked.Tenants > 0 {
		tenant += n % m.asked.Tenants
	}
	// Failures are spread evenly, so the share is exact and the same in every run.
	fails := math.Floor(float64(n+1)*m.asked.FailShare) > math.Floor(float64(n)*m.asked.FailShare)
	return river.InsertManyParams{
		Args:       payload{T: epochMs(), Fail: fails, Tenant: tenant, Pad: m.pad},
		InsertOpts: m.opts,
	}
}

func (c *contestant) enqueue(ctx context.Context, asked *request) (reply, error) {
	insert, batch, calls := c.insertOne, 1, 1
	switch asked.How {
	case "one":
		if asked.Concurrency != nil {
			calls = max(1, *asked.Concurrency)
		}
	case "bulk":
		insert, batch = c.insertBulk, c.bulkBatch(asked)
	default:
		return nil, fmt.Errorf("how is %q; it must be one or bulk", asked.How)
	}
	if err := c.openSender(ctx, calls); err != nil {
		return nil, err
	}
	made := newMaker(asked)

	start := time.Now()
	deadline := deadlineOf(start, asked.Seconds)
	var next, done atomic.Int64
	err := together(calls, func(int) error {
		for time.Now().Before(deadline) {
			from := int(next.Add(int64(batch))) - batch
			if from >= asked.Jobs {
				return nil
			}
			to := min(from+batch, asked.Jobs)
			if err := insert(ctx, made, from, to); err != nil {
				return err
			}
			done.Add(int64(to - from))
		}
		return nil
	})
	return reply{"jobs": done.Load(), "seconds": time.Since(start).Seconds()}, err
}

// produce is an open loop: a slow call does not delay the next ones, as long as a sender is free.
func (c *contestant) produce(ctx context.Context, asked *request) (reply, error) {
	if asked.Rate <= 0 {
		return nil, fmt.Errorf("rate is %v; it must be greater than 0", asked.Rate)
	}
	if err := c.openSender(ctx, producers); err != nil {
		return nil, err
	}
	made := newMaker(asked)
	total := int64(math.Round(asked.Rate * asked.Seconds))
	start := time.Now()
	var next, done atomic.Int64
	err := together(producers, func(int) error {
		for {
			n := next.Add(1) - 1
			if n >= total {
				return nil
			}
			time.Sleep(time.Until(start.Add(time.Duration(float64(n) / asked.Rate * float64(time.Second)))))
			if err := c.insertOne(ctx, made, int(n), int(n)+1); err != nil {
				return err
			}
			done.Add(1)
		}
	})
	return reply{"jobs": done.Load(), "seconds": time.Since(start).Seconds()}, err
}

func (c *contestant) insertOne(ctx context.Context, made *maker, n, _ int) error {
	job := made.job(n)
	_, err := c.sender.Insert(ctx, job.Args, job.InsertOpts)
	return err
}

func (c *contestant) insertBulk(ctx context.Context, made *maker, from, to int) error {
	jobs := make([]river.InsertManyParams, 0, to-from)
	for n := from; n < to; n++ {
		jobs = append(jobs, made.job(n))
	}
	if c.settings.copies {
		_, err := c.sender.InsertManyFast(ctx, jobs)
		return err
	}
	_, err := c.sender.InsertMany(ctx, jobs)
	return err
}

func (c *contestant) bulkBatch(asked *request) int {
	return max(1, min(c.settings.bulkBatch, bulkBytes/(asked.PayloadBytes+100)))
}

// openSender makes a client that only inserts. Its connections are open before the measurement starts, as in a program
// that has been running for a while.
func (c *contestant) openSender(ctx context.Context, calls int) error {
	if c.sender != nil && c.senders >= calls {
		return nil
	}
	if c.senderPool != nil {
		c.senderPool.Close()
		c.sender = nil
	}
	connections := int32(0)
	if c.settings.workerPool > 0 {
		connections = int32(calls)
	}
	pool, err := openPool(ctx, connections)
	if err != nil {
		return err
	}
	c.senderPool = pool
	if err := warm(ctx, pool, min(calls, int(pool.Config().MaxConns))); err != nil {
		return err
	}
	c.sender, err = river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: c.logger})
	c.senders = calls
	return err
}

func warm(ctx context.Context, pool *pgxpool.Pool, connections int) error {
	held := make([]*pgxpool.Conn, 0, connections)
	defer func() {
		for _, connection := range held {
			connection.Release()
		}
	}()
	for range connections {
		connection, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		held = append(held, connection)
	}
	return nil
}

// together makes concurrent calls with 0, 1, and so on. It waits for all of them and returns their errors.
func together(times int, call func(n int) error) error {
	var all sync.WaitGroup
	errs := make([]error, times)
	for n := range times {
		all.Go(func() { errs[n] = call(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// deadlineOf returns a time in the far future if there is no time limit.
func deadlineOf(start time.Time, seconds float64) time.Time {
	if seconds <= 0 {
		return start.Add(24 * time.Hour)
	}
	return start.Add(time.Duration(seconds * float64(time.Second)))
}
