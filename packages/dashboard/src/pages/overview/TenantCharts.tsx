/** The runs of one tenant, hour by hour. The samples of each minute are of all tenants together. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { duration, short } from "../../lib/format.ts";
import { hoursOf } from "../../lib/series.ts";
import { Button } from "../../ui/Button.tsx";
import { Chart } from "../../ui/Chart.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import css from "./Overview.module.css";

const spans = { "24": "24 hours", "168": "7 days" } as const;
type Hours = keyof typeof spans;

export function TenantCharts({ tenant }: { tenant: string | undefined }): JSX.Element {
  const [hours, setHours] = useState<Hours>("24");
  const usage = useQuery({
    queryKey: ["usage-by-hour", tenant ?? null, hours],
    queryFn: () => {
      const from = new Date(Date.now() - Number(hours) * 3_600_000).toISOString();
      const query = {
        from,
        bucket: "hour" as const,
        by: ["none" as const],
        ...(tenant && { tenant_id: tenant }),
      };
      return bodyOf(api.GET("/v1/usage", { params: { query } }));
    },
    refetchInterval: 60_000,
    placeholderData: (before) => before,
  });
  return (
    <Panel
      title="Over time"
      note="each hour"
      actions={(Object.keys(spans) as Hours[]).map((each) => (
        <Button key={each} pressed={each === hours} onClick={() => setHours(each)}>
          {spans[each]}
        </Button>
      ))}
    >
      <Load query={usage} rows={6}>
        {({ items }) => <Lines rows={items} hours={Number(hours)} />}
      </Load>
    </Panel>
  );
}

function Lines({ rows, hours }: { rows: readonly Schemas["Usage"][]; hours: number }): JSX.Element {
  const { starts, ends, times } = useMemo(() => hoursOf(rows, hours, Date.now()), [rows, hours]);
  return (
    <div class={css["charts"]}>
      <Chart title="Runs that ended, per hour" starts={starts} lines={ends} format={short} unit="jobs" />
      <Chart title="How long jobs wait and run" starts={starts} lines={times} format={duration} unit="ms" />
    </div>
  );
}
