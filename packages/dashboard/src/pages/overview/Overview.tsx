/** How things are now: what waits and runs, what is paused, and which errors ended jobs. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { countOf, duration, plural } from "../../lib/format.ts";
import { useTenant } from "../../state/route.ts";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { useDead } from "../dead/Dead.tsx";

export function Overview(): JSX.Element {
  const may = useMay();
  return (
    <>
      <PageHead title="Overview" />
      <Now />
      {may("list_gates") && <Pauses />}
      {may("list_jobs") && <Errors />}
    </>
  );
}

function Now(): JSX.Element {
  const tenant = useTenant();
  const live = useQuery({
    queryKey: ["live-counts", tenant ?? null],
    queryFn: () =>
      bodyOf(api.GET("/v1/live", { params: { query: tenant === undefined ? {} : { tenant_id: tenant } } })),
    meta: { live: true },
  });
  return (
    <Panel title="Now">
      <Load query={live} rows={2}>
        {({ items }) => {
          const isExact = items.every(({ exact }) => exact);
          const sum = (name: "queued" | "scheduled" | "running"): string =>
            countOf(
              items.reduce((total, row) => total + row[name], 0),
              isExact,
            );
          const oldest = Math.max(0, ...items.map(({ oldest_ms }) => oldest_ms ?? 0));
          return (
            <Facts
              facts={[
                ["Due", sum("queued")],
                ["Scheduled", sum("scheduled")],
                ["Running", sum("running")],
                ["Longest wait", oldest === 0 ? "–" : duration(oldest)],
              ]}
            />
          );
        }}
      </Load>
    </Panel>
  );
}

function Pauses(): JSX.Element {
  const gates = useQuery({
    queryKey: ["gates"],
    queryFn: () => bodyOf(api.GET("/v1/gates")),
    meta: { live: true },
  });
  return (
    <Panel title="Paused">
      <Load query={gates} rows={1}>
        {({ items }) =>
          items.length === 0 ? (
            <p>Nothing is paused.</p>
          ) : (
            <ul>
              {items.map(({ scope, key, reason }) => (
                <li key={`${scope} ${key}`}>
                  {scope === "all" ? "Everything" : `The ${scope} ${key ?? ""}`}
                  {reason && `: ${reason}`}
                </li>
              ))}
            </ul>
          )
        }
      </Load>
    </Panel>
  );
}

const mostGroups = 5;

function Errors(): JSX.Element {
  const groups = useDead(useTenant());
  return (
    <Panel title="Errors that ended jobs">
      <Load query={groups} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <p>No job is failed or dead.</p>
          ) : (
            <>
              <ul>
                {items.slice(0, mostGroups).map((group) => (
                  <li key={`${group.type} ${group.error_group}`}>
                    <Link
                      to="/jobs"
                      params={{ status: ["failed", "dead"], type: group.type, group: group.error_group }}
                    >
                      {plural(group.jobs, "job")} of {group.type}
                    </Link>
                  </li>
                ))}
              </ul>
              <Link to="/dead">See all groups</Link>
            </>
          )
        }
      </Load>
    </Panel>
  );
}
