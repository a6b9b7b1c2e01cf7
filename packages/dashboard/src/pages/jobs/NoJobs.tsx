/** A list without rows: nothing matches, or there has never been a job. */
import { useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf } from "../../api/client.ts";
import { useMay, useMe } from "../../api/session.ts";
import { isEmpty, type JobFilter, noFilter, termsIn, withoutTerm } from "../../lib/filter.ts";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Empty } from "../../ui/States.tsx";
import { say, sayProblem } from "../../ui/Toasts.tsx";
import { Chip } from "./FilterBar.tsx";
import css from "./NoJobs.module.css";

const globalTenant = "00000000-0000-0000-0000-000000000000";

export function NoJobs({
  filter,
  onChange,
  searchedAfter,
}: {
  filter: JobFilter;
  onChange: (filter: JobFilter) => void;
  searchedAfter: string | undefined;
}): JSX.Element {
  if (isEmpty(filter) && filter.state.length === 0) return <FirstUse />;
  const { state } = filter;
  return (
    <Empty title={titleOf(filter, searchedAfter !== undefined)}>
      {!isEmpty(filter) && (
        <p class={css["chips"]}>
          {termsIn(filter).map((term) => (
            <Chip
              key={`${term.name}:${term.value}`}
              term={term}
              onRemove={() => onChange(withoutTerm(filter, term))}
            />
          ))}
        </p>
      )}
      <p class={css["chips"]}>
        {state.length > 0 && (
          <Button onClick={() => onChange({ ...filter, state: [] })}>Search all states</Button>
        )}
        {!isEmpty(filter) && <Button onClick={() => onChange(noFilter)}>Remove all filters</Button>}
      </p>
    </Empty>
  );
}

/** A search that stopped early has not seen every job. */
function titleOf(filter: JobFilter, isPart: boolean): string {
  if (isPart) return "No job matches among those that were searched";
  return isEmpty(filter) ? `No job is ${filter.state.join(" or ")} now` : "No job matches";
}

const sample = `import { defineJob, JobForge, tenantId } from "jobforge";

const mail = defineJob({ type: "mail.send" });
const forge = new JobForge({ database: process.env.DATABASE_URL });
await forge.enqueue(mail, { to: "ada@example.com" }, { tenantId: tenantId("org_123") });`;

function FirstUse(): JSX.Element {
  const may = useMay();
  const me = useMe();
  const tenant = useTenant();
  const client = useQueryClient();
  const send = async (): Promise<void> => {
    const query = me.tenant_id === null ? { tenant_id: tenant ?? globalTenant } : {};
    try {
      await bodyOf(
        api.POST("/v1/jobs", {
          params: { query },
          body: { type: "hello.dashboard", payload: { from: "the dashboard" } },
        }),
      );
      say("The test job is queued. It waits until a worker handles the type hello.dashboard.");
      await client.invalidateQueries({ queryKey: ["jobs"] });
    } catch (error) {
      sayProblem(error);
    }
  };
  return (
    <Empty title="There are no jobs yet">
      <p>An application enqueues the first one with three lines:</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
      <pre class={css["sample"]} tabIndex={0}>
        {sample}
      </pre>
      {may("enqueue_job") && (
        <Button icon="run" onClick={() => void send()}>
          Send a test job
        </Button>
      )}
    </Empty>
  );
}
