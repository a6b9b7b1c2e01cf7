/** The workers: which are alive, what they run, and when each was last heard. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { count, plural } from "../../lib/format.ts";
import { Bar } from "../../ui/Bar.tsx";
import { Field } from "../../ui/Field.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

export type Worker = Schemas["Worker"];

export const useWorkers = (isAllowed = true) =>
  useQuery({
    queryKey: ["workers"],
    queryFn: () => bodyOf(api.GET("/v1/workers")),
    enabled: isAllowed,
    refetchInterval: 15_000,
    meta: { live: true },
  });

const words = { alive: "Alive", stopped: "Stopped", gone: "Gone" } as const;

export function Workers(): JSX.Element {
  const workers = useWorkers();
  const [text, setText] = useState("");
  const alive = workers.data?.items.filter(({ status }) => status === "alive").length ?? 0;
  return (
    <>
      <PageHead title="Workers" note={workers.data && `${count(alive)} alive`} />
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
              <Field label="Filter by name, host or type" id="worker-filter">
                <input
                  id="worker-filter"
                  value={text}
                  onInput={({ currentTarget }) => setText(currentTarget.value)}
                />
              </Field>
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
        { title: "Worker", cell: ({ id }) => <strong>{id}</strong> },
        { title: "State", kind: "short", cell: ({ status }) => words[status] },
        { title: "Busy", cell: busy },
        { title: "Types", cell: ({ types }) => typesOf(types) },
        { title: "Host", cell: ({ host, pid }) => [host, pid].filter((each) => each !== null).join(" · ") },
        { title: "Version", kind: "short", cell: ({ version }) => version ?? "" },
        { title: "Last heard", kind: "short", cell: ({ seen_at }) => <Time at={seen_at} /> },
      ]}
    />
  );
}

function busy({ running, concurrency }: Worker): JSX.Element | string {
  if (concurrency === null) return plural(running, "job");
  return <Bar part={running} all={concurrency} label={`${running} of ${concurrency}`} />;
}

function typesOf(types: readonly string[] | null): string {
  if (types === null) return "all";
  return types.length > 4 ? `${types.slice(0, 4).join(", ")} +${types.length - 4}` : types.join(", ");
}
