package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// settings has the options that differ between best and default settings. Zero means the library's own default.
type settings struct {
	text              string
	maxWorkers        int
	fetchCooldown     time.Duration
	fetchPollInterval time.Duration
	workerPool        int32
	bulkBatch         int
	copies            bool // bulk by COPY instead of an insert of many rows
}

// The best settings are those of River's own benchmark (`river bench`). The default settings are those of the client in
// its README, with no other option set. Every queue must set MaxWorkers.
var known = map[string]settings{
	"best": {
		text:              "MaxWorkers 2000, FetchCooldown 2 ms, FetchPollInterval 20 ms, pool 20; bulk by InsertManyFast (COPY) of 5000; ends written by the batch completer",
		maxWorkers:        2000,
		fetchCooldown:     2 * time.Millisecond,
		fetchPollInterval: 20 * time.Millisecond,
		workerPool:        20,
		bulkBatch:         5000,
		copies:            true,
	},
	"default": {
		text:       "MaxWorkers 100, FetchCooldown 100 ms, FetchPollInterval 1 s, pgx's own pool size; bulk by InsertMany of 1000; ends written by the batch completer",
		maxWorkers: 100,
		bulkBatch:  1000,
	},
}

func settingsOf(name string) (settings, error) {
	chosen, ok := known[name]
	if !ok {
		return settings{}, fmt.Errorf("BENCH_SETTINGS is %q; it must be best or default", name)
	}
	return chosen, nil
}

// openPool opens a pool with this many connections. 0 means the default of pgx.
func openPool(ctx context.Context, connections int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	if connections > 0 {
		config.MaxConns = connections
	}
	return pgxpool.NewWithConfig(ctx, config)
}
