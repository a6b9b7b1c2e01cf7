/** One type: its numbers, its policy with the retries that follow from it, and its pause. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { pause, resume } from "../../api/gates.ts";
import { useMay } from "../../api/session.ts";
import { typeCommands } from "../../lib/commands.ts";
import { countOf, duration } from "../../lib/format.ts";
import { ladderOf } from "../../lib/ladder.ts";
import type { Span } from "../../lib/series.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { type Limit, Limits, useGates } from "../controls/Controls.tsx";
import { PauseDialog } from "../controls/PauseDialog.tsx";
import { Charts } from "../overview/Charts.tsx";
import { EditPolicy } from "./EditPolicy.tsx";
import { EnqueueJob } from "./EnqueueJob.tsx";
import { Errors } from "./Errors.tsx";
import { errorShare, stateOf, useTypes } from "./Types.tsx";

export type Policy = Schemas["Policy"];

/** Maintenance samples up to 200 types each by itself. */
const mostSampled = 200;

export function Type({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const type = decodeURIComponent(params["type"] ?? "");
  const may = useMay();
  const types = useTypes();
  const [isPausing, setPausing] = useState(false);
  const [isEnqueuing, setEnqueuing] = useState(false);
  const [span, setSpan] = useState<Span>("1h");
  const hasZeros = (types.data?.items.length ?? mostSampled) < mostSampled;
  const info = types.data?.items.find((each) => each.type === type);
  const place = { scope: "type" as const, key: type };
  const gates = useGates(may("list_gates"));
  const gate = gates.data?.items.find(({ scope, key }) => scope === "type" && key === type);
  const resuming = useChange({
    run: () => resume(place),
    ...(gate !== undefined && { undo: () => pause(place, gate) }),
    done: () => `Resumed ${type}`,
  });
  return (
    <>
      <PageHead title={type} note={info && stateOf(info)}>
        {may("list_jobs") && (
          <Link to="/jobs" params={{ type }}>
            Its jobs
          </Link>
        )}
        {may("enqueue_job") && (
          <Button icon="plus" onClick={() => setEnqueuing(true)}>
            Enqueue a job
          </Button>
        )}
        {may("set_gate") &&
          (info?.paused ? (
            <Button icon="run" busy={resuming.isPending} onClick={() => resuming.mutate()}>
              Resume
            </Button>
          ) : (
            <Button icon="pause" onClick={() => setPausing(true)}>
              Pause
            </Button>
          ))}
        <CopyAs commands={typeCommands(type, apiBase)} />
      </PageHead>
      <Panel title="Now and in the last hour">
        <Load query={types} rows={2}>
          {() =>
            info === undefined ? (
              <p>It has no jobs, no worker and no policy of its own.</p>
            ) : (
              <Facts
                facts={[
                  ["Due", countOf(info.due, info.exact)],
                  ["Scheduled", countOf(info.scheduled, info.exact)],
                  ["Running", countOf(info.running)],
                  ["Succeeded", countOf(info.succeeded)],
                  ["Failed", countOf(info.failed)],
                  ["Dead", countOf(info.dead)],
                  ["Errors", errorShare(info)],
                  ["Median wait", info.wait_ms === null ? "–" : duration(Math.max(0, info.wait_ms))],
                  ["Median run", info.run_ms === null ? "–" : duration(info.run_ms)],
                  ["Workers", info.workers === null ? "–" : countOf(info.workers)],
                ]}
              />
            )
          }
        </Load>
      </Panel>
      {may("series") && (
        <Charts
          type={type}
          span={span}
          onSpan={setSpan}
          // Two series, each every other minute: a page at rest asks once a minute.
          everyMs={hasZeros ? 120_000 : 60_000}
          hasZeros={hasZeros}
        />
      )}
      {may("list_dead_groups") && <Errors type={type} />}
      {may("list_limits") && (
        <Limits
          title="Its limits"
          of={(limit) => appliesTo(limit, type)}
          about={{ scope: "type", key: type }}
        />
      )}
      {may("get_policy") && <PolicyPanel type={type} />}
      {isEnqueuing && <EnqueueJob type={type} onClose={() => setEnqueuing(false)} />}
      {isPausing && <PauseDialog scope="type" name={type} onClose={() => setPausing(false)} />}
    </>
  );
}

/** A limit of the type, of all types without their own, or of one tenant's jobs of it. */
function appliesTo({ scope, key }: Limit, type: string): boolean {
  if (scope === "type") return key === type || key === "*";
  return scope === "type_tenant" && (key.startsWith(`${type}:`) || key === "*");
}

function PolicyPanel({ type }: { type: string }): JSX.Element {
  const may = useMay();
  const [isEditing, setEditing] = useState(false);
  const policy = useQuery({
    queryKey: ["policy", type],
    queryFn: () => bodyOf(api.GET("/v1/types/{type}/policy", { params: { path: { type } } })),
  });
  return (
    <Panel
      title="Policy"
      note={policy.data && (policy.data.type === type ? "its own" : "the default of all types")}
      actions={
        may("set_policy") &&
        policy.data && (
          <Button icon="edit" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )
      }
    >
      <Load query={policy} rows={3}>
        {(found) => (
          <>
            <Facts facts={factsOf(found)} />
            {isEditing && <EditPolicy type={type} policy={found} onClose={() => setEditing(false)} />}
          </>
        )}
      </Load>
    </Panel>
  );
}

function factsOf(policy: Policy): readonly (readonly [string, JSX.Element | string])[] {
  const waits = ladderOf(policy);
  const more = policy.max_attempts - 1 > waits.length ? ", …" : "";
  return [
    ["Attempts", countOf(policy.max_attempts)],
    ["Waits between them", waits.length === 0 ? "–" : waits.map((wait) => duration(wait)).join(", ") + more],
    ["Jitter", policy.jitter === 0 ? "none" : `± ${Math.round(policy.jitter * 100)} %`],
    ["Timeout", policy.timeout_ms === null ? "none" : duration(policy.timeout_ms)],
    ["Finished jobs are kept", policy.keep_history ? `${policy.retention_days ?? 30} days` : "no"],
    ["Logs are kept", policy.keep_logs],
    ["Masked keys", policy.redact.length === 0 ? "none" : policy.redact.join(", ")],
    ["Set by hand", policy.by_hand.length === 0 ? "nothing" : policy.by_hand.join(", ")],
    ["Changed", <Time key="at" at={policy.updated_at} />],
  ];
}
