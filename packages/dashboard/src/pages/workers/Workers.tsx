/** The workers: which are alive, what they run, and when each was last heard. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { wholeList } from "../../lib/commands.ts";
import { count, plural } from "../../lib/format.ts";
import { Bar } from "../../ui/Bar.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Field } from "../../ui/Field.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

export type Worker = Schemas["Worker"];

const useWorkers = () =>
  useQuery({
    queryKey: ["workers"],
    queryFn: () => bodyOf(api.GET("/v1/workers")),
    refetchInterval: 60_000,
    meta: { live: true },
  });

const words: Readonly<Record<Worker["status"], string>> = {
  alive: "Alive",
  stopped: "Stopped",
  gone: "Gone",
};

export function stateOf({ status, stop_requested_at }: Worker): string {
  return status === "alive" && stop_requested_at !== null ? "Stopping" : words[status];
}

export function Workers(): JSX.Element {
  const workers = useWorkers();
  const [text, setText] = useState("");
  const alive = workers.data?.items.filter(({ status }) => status === "alive").length ?? 0;
  return (
    <>
      <PageHead title="Workers" note={workers.data && `${count(alive)} alive`}>
        <CopyAs commands={wholeList("workers", apiBase)} />
      </PageHead>
      <Load query={workers}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No worker has been heard">
              <p>
                Start one with <code>jobforge worker ./handlers</code>. It appears here within seconds.
              </p>
            </Empty>
          ) : (
            <>
              <div class="filters">
                <Field label="Filter by name, host or type" id="worker-filter">
                  <input
                    id="worker-filter"
                    value={text}
                    onInput={({ currentTarget }) => setText(currentTarget.value)}
                  />
                </Field>
              </div>
              <WorkerTable workers={items.filter((worker) => matches(worker, text.toLowerCase()))} />
            </>
          )
        }
      </Load>
    </>
  );
}

function matches({ id, host, types }: Worker, text: string): boolean {
  return [id, host ?? "", ...(types ?? [])].some((each) => each.toLowerCase().includes(text));
}

function WorkerTable({ workers }: { workers: readonly Worker[] }): JSX.Element {
  return (
    <TableList
      caption="Workers"
      rows={workers}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Worker",
          cell: ({ id }) => <Link to={`/workers/${encodeURIComponent(id)}`}>{id}</Link>,
        },
        { title: "State", kind: "short", cell: stateOf },
        { title: "Busy", cell: (worker) => <Busy worker={worker} /> },
        { title: "Types", cell: ({ types }) => typesOf(types) },
        { title: "Host", cell: ({ host, pid }) => [host, pid].filter((each) => each !== null).join(" · ") },
        { title: "Version", kind: "short", cell: ({ version }) => version ?? "" },
        { title: "Last heard", kind: "short", cell: ({ seen_at }) => <Time at={seen_at} /> },
      ]}
    />
  );
}

function Busy({ worker: { id, running, concurrency } }: { worker: Worker }): JSX.Element {
  const may = useMay();
  const label = concurrency === null ? plural(running, "job") : `${running} of ${concurrency}`;
  return (
    <>
      {concurrency === null ? label : <Bar part={running} all={concurrency} label={label} />}{" "}
      {running > 0 && may("list_jobs") && (
        <Link to="/jobs" params={{ status: "running", worker: id }}>
          See them
        </Link>
      )}
    </>
  );
}

function typesOf(types: readonly string[] | null): string {
  if (types === null) return "all";
  return types.length > 4 ? `${types.slice(0, 4).join(", ")} +${types.length - 4}` : types.join(", ");
}
