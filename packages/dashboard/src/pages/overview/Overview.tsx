/** How things are: first what needs attention, then what waits and runs, and how that went over time. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { countOf, duration, short } from "../../lib/format.ts";
import { endedPerMinute, type Sample, type Span } from "../../lib/series.ts";
import { type Params, useTenant } from "../../state/route.ts";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Attention } from "./Attention.tsx";
import { Charts, useSeries } from "./Charts.tsx";
import { Failures } from "./Failures.tsx";
import css from "./Overview.module.css";
import { TenantCharts } from "./TenantCharts.tsx";
import { Waiting } from "./Waiting.tsx";

const useLive = () => {
  const tenant = useTenant();
  return useQuery({
    queryKey: ["live-counts", tenant ?? null],
    queryFn: () =>
      bodyOf(api.GET("/v1/live", { params: { query: tenant === undefined ? {} : { tenant_id: tenant } } })),
    meta: { live: true },
  });
};

export function Overview(): JSX.Element {
  const may = useMay();
  const tenant = useTenant();
  const isOfOne = !useSeesTenants() || tenant !== undefined;
  const hasSeries = may("series") && tenant === undefined;
  const [span, setSpan] = useState<Span>("1h");
  // The figure of ended runs is read with the charts of the last hour. With longer ones, each is read less often.
  const everyMs = span === "1h" ? 60_000 : 120_000;
  const series = useSeries("1h", { isAsked: hasSeries, everyMs });
  return (
    <>
      <PageHead title="Overview" />
      <Attention />
      <Now ended={hasSeries ? endedWords(series.data?.items) : undefined} />
      {may("list_waiting") && tenant === undefined && <Waiting />}
      {may("list_jobs") && isOfOne && <Failures tenant={tenant} />}
      {hasSeries && <Charts span={span} onSpan={setSpan} everyMs={everyMs} />}
      {may("report_usage") && isOfOne && <TenantCharts tenant={tenant} />}
    </>
  );
}

function endedWords(samples: readonly Sample[] | undefined): string {
  const rate = samples && endedPerMinute(samples, Date.now());
  if (rate === undefined) return "–";
  return rate < 10 ? rate.toFixed(1) : short(Math.round(rate));
}

interface Tile {
  readonly name: string;
  readonly value: string;
  /** The page that has more about it, if the caller may see it. */
  readonly path: string;
  readonly params?: Params;
}

/** `ended`: how many runs ended per minute. Undefined where it is not known. */
function Now({ ended }: { ended: string | undefined }): JSX.Element {
  const may = useMay();
  const live = useLive();
  return (
    <Load query={live} rows={2}>
      {({ items }) => {
        const isExact = items.every(({ exact }) => exact);
        const sum = (name: "queued" | "scheduled" | "running"): string =>
          countOf(
            items.reduce((total, row) => total + row[name], 0),
            isExact,
          );
        const oldest = Math.max(0, ...items.map(({ oldest_ms }) => oldest_ms ?? 0));
        const tiles: readonly Tile[] = [
          { name: "Due", value: sum("queued"), path: "/jobs", params: { status: "queued", phase: "due" } },
          {
            name: "Scheduled",
            value: sum("scheduled"),
            path: "/jobs",
            params: { status: "queued", phase: "scheduled" },
          },
          { name: "Running", value: sum("running"), path: "/jobs", params: { status: "running" } },
          ...(ended === undefined ? [] : [{ name: "Ended per minute", value: ended, path: "/usage" }]),
          {
            name: "Longest wait",
            value: oldest === 0 ? "–" : duration(oldest),
            path: "/jobs",
            params: { status: "queued" },
          },
        ];
        return (
          <dl class={css["tiles"]}>
            {tiles.map(({ name, value, path, params }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {may(path === "/jobs" ? "list_jobs" : "report_usage") ? (
                    <Link to={path} {...(params && { params })}>
                      {value}
                    </Link>
                  ) : (
                    value
                  )}
                </dd>
              </div>
            ))}
          </dl>
        );
      }}
    </Load>
  );
}
