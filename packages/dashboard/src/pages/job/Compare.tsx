/** How the payload of a failed job differs from that of the last job of its type that succeeded. */
import { useQuery } from "@tanstack/preact-query";
import diff from "microdiff";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { type Job, jobParams, listJobs } from "../../api/jobs.ts";
import { type Exact, field, parseExact, writeExact } from "../../lib/json.ts";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";

interface Found {
  readonly id: string;
  readonly payload: Exact;
}

/** Of the same tenant, so that no page shows another tenant's payload. */
async function lastSuccess({ type, tenant_id }: Job): Promise<Found | null> {
  const filter = { type: [type], status: ["succeeded"] };
  const { items } = await listJobs(filter, tenant_id, { order: "finished_at", limit: 1 });
  const id = items[0]?.id;
  if (id === undefined) return null;
  const params = jobParams({ id, tenant: tenant_id });
  const text = await bodyOf(api.GET("/v1/jobs/{id}", { params, parseAs: "text" }));
  return { id, payload: field(parseExact(text), "payload") ?? null };
}

export function Compare({ job, payload }: { job: Job; payload: Exact }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const other = useQuery({
    queryKey: ["last-success", job.tenant_id, job.type],
    queryFn: () => lastSuccess(job),
    enabled: isOpen,
  });
  if (!isOpen) return <Button onClick={() => setOpen(true)}>Compare with the last success</Button>;
  return (
    <Load query={other} rows={2}>
      {(found) =>
        found === null ? (
          <p>No job of this type that is still kept has succeeded.</p>
        ) : (
          <Differences own={payload} other={found} of={job.tenant_id} />
        )
      }
    </Load>
  );
}

interface Difference {
  readonly path: string;
  readonly here: string;
  readonly there: string;
}

function Differences({ own, other, of }: { own: Exact; other: Found; of: string }): JSX.Element {
  const rows = differencesOf(own, other.payload);
  return (
    <>
      <p>
        <Link to={`/jobs/${other.id}`} params={{ of }}>
          …{other.id.slice(-8)}
        </Link>{" "}
        succeeded with {rows.length === 0 ? "the same payload." : "this payload:"}
      </p>
      {rows.length > 0 && (
        <Table
          caption="Differences of the payloads"
          rows={rows}
          keyOf={({ path }) => path}
          columns={[
            { title: "Field", cell: ({ path }) => <code>{path}</code> },
            { title: "This job", cell: ({ here }) => <code>{here}</code> },
            { title: "The success", cell: ({ there }) => <code>{there}</code> },
          ]}
        />
      )}
    </>
  );
}

/** Compared as text, so that numbers with many digits differ if any digit does. */
export function differencesOf(own: Exact, other: Exact): Difference[] {
  const [here, there] = [flat(own), flat(other)];
  return diff(there, here).map(({ path: [name = ""] }) => ({
    path: String(name),
    here: here[name] ?? "–",
    there: there[name] ?? "–",
  }));
}

/** Each leaf with its path as one key, so that a path with dots in a name stays one name. */
function flat(value: Exact, path = "", into: Record<string, string> = {}): Record<string, string> {
  const isBranch = typeof value === "object" && value !== null && !("isLosslessNumber" in value);
  const entries = isBranch ? Object.entries(value as object) : [];
  if (entries.length === 0) into[path === "" ? "payload" : path] = writeExact(value);
  for (const [key, inner] of entries) flat(inner as Exact, path === "" ? key : `${path}.${key}`, into);
  return into;
}
