/** What a worker reports with its heartbeats: how fast the database responds to it, and what became of its ends. */
import type { JSX } from "preact";
import { count, duration } from "../../lib/format.ts";
import { latencyOf } from "../../lib/latency.ts";
import { Facts, Panel } from "../../ui/Panel.tsx";
import { Table } from "../../ui/Table.tsx";

interface Metrics {
  readonly claim?: unknown;
  readonly settle?: unknown;
  readonly stale?: unknown;
  readonly handed?: unknown;
}

const calls = [
  ["claim", "Claims"],
  ["settle", "Ends of runs"],
] as const;

export function Reports({ metrics }: { metrics: unknown }): JSX.Element {
  const found = metrics as Metrics;
  const rows = calls.flatMap(([name, label]) => {
    const latency = latencyOf(found[name]);
    return latency === undefined ? [] : [{ label, ...latency }];
  });
  return (
    <Panel title="What it reports" note="since it was started" flush={rows.length > 0}>
      {rows.length > 0 && (
        <Table
          caption="How long the database takes to respond to the worker"
          rows={rows}
          keyOf={({ label }) => label}
          columns={[
            { title: "Calls of the database", cell: ({ label }) => label },
            { title: "Calls", kind: "number", cell: (row) => count(row.calls) },
            { title: "On average", kind: "number", cell: ({ averageMs }) => duration(averageMs) },
            { title: "95 % within", kind: "number", cell: ({ p95Ms }) => within(p95Ms) },
          ]}
        />
      )}
      <div class={rows.length > 0 ? "inset" : undefined}>
        <Facts
          facts={[
            typeof found.handed === "number" && ["Handed over without a claim", count(found.handed)],
            typeof found.stale === "number" && ["Ends that came too late", count(found.stale)],
          ]}
        />
      </div>
    </Panel>
  );
}

const within = (ms: number): string => (Number.isFinite(ms) ? duration(ms) : "more than 10 s");
