// River as a contestant of the benchmarks. Reads one request per line from stdin, replies to each with one line of JSON
// on stdout, and exits when stdin is closed. The requests are described in bench/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

// request has the fields of all requests. Each request uses some of them.
type request struct {
	Do           string  `json:"do"`
	Jobs         int     `json:"jobs"`
	How          string  `json:"how"`
	Concurrency  *int    `json:"concurrency"`
	PayloadBytes int     `json:"payloadBytes"`
	DelaySeconds float64 `json:"delaySeconds"`
	Tenants      int     `json:"tenants"`
	TenantFrom   *int    `json:"tenantFrom"`
	TenantTo     *int    `json:"tenantTo"`
	FailShare    float64 `json:"failShare"`
	Seconds      float64 `json:"seconds"`
	Rate         float64 `json:"rate"`
	SleepMs      float64 `json:"sleepMs"`
	Limit        *int    `json:"limit"`
	Workers      int     `json:"workers"`
}

type reply map[string]any

// unsupported is the error for a feature that River does not have. It contains the reason.
type unsupported string

func (reason unsupported) Error() string { return string(reason) }

func main() {
	ctx := context.Background()
	contestant, err := newContestant()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer contestant.close(ctx)

	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := out.Encode(contestant.reply(ctx, lines.Bytes())); err != nil {
			return
		}
	}
}

func (c *contestant) reply(ctx context.Context, line []byte) reply {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return reply{"error": "not a request: " + err.Error()}
	}
	given, err := c.do(ctx, &asked)
	if reason, ok := err.(unsupported); ok {
		return reply{"unsupported": string(reason)}
	}
	if err != nil {
		return reply{"error": err.Error()}
	}
	return given
}

func (c *contestant) do(ctx context.Context, asked *request) (reply, error) {
	switch asked.Do {
	case "prepare":
		return c.prepare(ctx)
	case "enqueue":
		return c.enqueue(ctx, asked)
	case "produce":
		return c.produce(ctx, asked)
	case "work":
		return c.work(ctx, asked)
	case "count":
		return c.measures.count(), nil
	case "waits":
		return c.measures.takeWaits(asked.TenantFrom, asked.TenantTo), nil
	case "stop":
		return reply{}, c.stop(ctx)
	}
	return nil, fmt.Errorf("unknown request: %q", asked.Do)
}

// riverVersion returns the version of River that is linked into this program.
func riverVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/riverqueue/river" {
				return module.Version
			}
		}
	}
	return "unknown"
}
