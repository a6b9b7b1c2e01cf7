/** One worker: what it is, the jobs that it holds, and the request to stop. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { problemFrom } from "../../api/problem.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { count, plural } from "../../lib/format.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Since, Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { Reports } from "./Reports.tsx";
import css from "./Worker.module.css";
import { stateOf } from "./Workers.tsx";

type Details = Schemas["WorkerDetails"];
type Held = NonNullable<Details["held"]>[number];

export function Worker({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const id = decodeURIComponent(params["id"] ?? "");
  const may = useMay();
  const [isStopping, setStopping] = useState(false);
  const worker = useQuery({
    queryKey: ["worker", id],
    queryFn: () => bodyOf(api.GET("/v1/workers/{worker_id}", { params: { path: { worker_id: id } } })),
    meta: { live: true },
  });
  const row = worker.data;
  const isMissing = worker.error !== null && problemFrom(worker.error).status === 404;
  const blocked =
    row?.status !== "alive"
      ? "The worker is not alive"
      : row.stop_requested_at === null
        ? undefined
        : "It was already asked to stop";
  return (
    <>
      <PageHead title={id} note={row && stateOf(row)}>
        {may("stop_worker") && row !== undefined && (
          <Button icon="pause" blocked={blocked} onClick={() => setStopping(true)}>
            Ask it to stop
          </Button>
        )}
      </PageHead>
      {isMissing ? (
        <Empty title="There is no such worker">
          <p>It never existed, or it has been gone for so long that it was forgotten.</p>
          <Link to="/workers">See all workers</Link>
        </Empty>
      ) : (
        <Load query={worker} rows={4}>
          {(found) => (
            <>
              <About worker={found} />
              <Types types={found.types} />
              {found.held !== null && <HeldJobs held={found.held} />}
              {found.metrics !== undefined && found.metrics !== null && <Reports metrics={found.metrics} />}
            </>
          )}
        </Load>
      )}
      {isStopping && <StopDialog id={id} onClose={() => setStopping(false)} />}
    </>
  );
}

function About({ worker }: { worker: Details }): JSX.Element {
  const { concurrency, running, host, pid, version } = worker;
  return (
    <Panel title="About">
      <Facts
        facts={[
          ["Busy", concurrency === null ? plural(running, "job") : `${running} of ${concurrency}`],
          ["Host", [host, pid].filter((each) => each !== null).join(" · ") || "–"],
          ["Version", version ?? "–"],
          ["Started", <Time key="started" at={worker.started_at} />],
          ["Last heard", <Time key="seen" at={worker.seen_at} />],
          worker.stop_requested_at !== null && [
            "Asked to stop",
            <span key="stop">
              <Time at={worker.stop_requested_at} /> by {worker.stop_requested_by ?? "unknown"}
            </span>,
          ],
        ]}
      />
    </Panel>
  );
}

function Types({ types }: { types: readonly string[] | null }): JSX.Element {
  const names = [...(types ?? [])].sort();
  return (
    <Panel title="Types that it runs" note={types === null ? "all" : count(names.length)}>
      {types === null ? (
        <p>It takes jobs of every type.</p>
      ) : (
        <ul class={css["types"]}>
          {names.map((type) => (
            <li key={type}>
              <Link to={`/types/${encodeURIComponent(type)}`}>{type}</Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function HeldJobs({ held }: { held: readonly Held[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <Panel title="Jobs that it holds" note="the longest run first" flush>
      <Table
        caption="Jobs that the worker holds"
        rows={held}
        keyOf={({ id }) => id}
        columns={[
          {
            title: "Type",
            cell: ({ id, tenant_id, type }) => (
              <Link to={`/jobs/${id}`} params={{ of: tenant_id }}>
                {type}
              </Link>
            ),
          },
          { title: "Subject", cell: ({ subject }) => subject ?? "–" },
          seesTenants && {
            title: "Tenant",
            cell: ({ tenant_id, tenant_label }) => tenantName({ tenant_id, label: tenant_label }),
          },
          { title: "Attempt", kind: "number", cell: ({ attempt }) => String(attempt) },
          { title: "Runs for", kind: "short", cell: ({ started_at }) => <Since at={started_at} /> },
          {
            title: "Note",
            cell: ({ cancel_requested }) => (cancel_requested ? "Its cancellation was requested" : ""),
          },
        ]}
      />
      {held.length === 0 && <p class="inset">It holds none.</p>}
    </Panel>
  );
}

function StopDialog({ id, onClose }: { id: string; onClose: () => void }): JSX.Element {
  const change = useChange({
    run: () => bodyOf(api.POST("/v1/workers/{worker_id}/stop", { params: { path: { worker_id: id } } })),
    done: () => `Asked ${id} to stop`,
    after: onClose,
  });
  return (
    <Dialog
      title={`Ask ${id} to stop?`}
      onClose={onClose}
      actions={
        <Button kind="danger" busy={change.isPending} onClick={() => change.mutate()}>
          Ask it to stop
        </Button>
      }
    >
      <p>
        It takes no further job, ends those that it holds, and exits. What has started it may start it again.
      </p>
    </Dialog>
  );
}
