package main

import (
	"slices"
	"sync"
	"time"
)

type waited struct {
	tenant int
	ms     float64
}

// measures counts the executions of this process and their waits.
type measures struct {
	mutex       sync.Mutex
	done        int
	first, last float64
	waits       []waited
}

func epochMs() float64 { return float64(time.Now().UnixMicro()) / 1000 }

func (m *measures) wait(tenant int, ms float64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.waits = append(m.waits, waited{tenant, ms})
}

func (m *measures) ended(began float64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.done == 0 || began < m.first {
		m.first = began
	}
	m.done++
	m.last = epochMs()
}

func (m *measures) count() reply {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return reply{"done": m.done, "first": m.first, "last": m.last}
}

// takeWaits returns the waits of the tenants in this range, both ends included, and removes them. Other waits remain.
func (m *measures) takeWaits(from, to *int) reply {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	taken := []float64{}
	kept := []waited{}
	for _, wait := range m.waits {
		if (from == nil || wait.tenant >= *from) && (to == nil || wait.tenant <= *to) {
			taken = append(taken, wait.ms)
		} else {
			kept = append(kept, wait)
		}
	}
	m.waits = kept
	slices.Sort(taken)
	if len(taken) == 0 {
		return reply{"n": 0, "p50": 0, "p95": 0, "p99": 0, "max": 0}
	}
	at := func(share float64) float64 { return taken[int(float64(len(taken))*share)] }
	return reply{"n": len(taken), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": taken[len(taken)-1]}
}
