/** What is paused and what is limited, why, and what waits behind it. */
import { useQuery } from "@tanstack/preact-query";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { type Gate, pause, resume } from "../../api/gates.ts";
import { useMay } from "../../api/session.ts";
import { wholeList } from "../../lib/commands.ts";
import { countOf, duration, plural } from "../../lib/format.ts";
import { Bar } from "../../ui/Bar.tsx";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { PageHead, Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { LimitDialog } from "./LimitDialog.tsx";
import { PauseDialog } from "./PauseDialog.tsx";

export type Limit = Schemas["ListedLimit"];

export const useGates = (isAllowed = true) =>
  useQuery({
    queryKey: ["gates"],
    queryFn: () => bodyOf(api.GET("/v1/gates")),
    enabled: isAllowed,
    meta: { live: true },
  });

export function Controls(): JSX.Element {
  const may = useMay();
  const [opened, open] = useState<"pause" | "limit">();
  return (
    <>
      <PageHead title="Limits and pauses">
        {may("set_gate") && (
          <Button icon="pause" onClick={() => open("pause")}>
            Pause
          </Button>
        )}
        {may("set_limit") && (
          <Button icon="plus" onClick={() => open("limit")}>
            Set a limit
          </Button>
        )}
      </PageHead>
      <Gates />
      <Limits />
      {opened === "pause" && <PauseDialog scope="type" name="" onClose={() => open(undefined)} />}
      {opened === "limit" && <LimitDialog onClose={() => open(undefined)} />}
    </>
  );
}

export function nameOf({ scope, key, tenant_label }: Pick<Gate, "scope" | "key" | "tenant_label">): string {
  return scope === "all" ? "Everything" : `${scope} ${tenant_label ?? key}`;
}

function Gates(): JSX.Element {
  const may = useMay();
  const gates = useGates();
  const change = useChange<Gate>({
    run: resume,
    undo: (gate) => pause(gate, gate),
    done: (gate) => `Resumed ${nameOf(gate)}`,
  });
  return (
    <Panel title="Paused" actions={<CopyAs commands={wholeList("gates", apiBase)} />} flush>
      <Load query={gates} rows={2}>
        {({ items }) => (
          <Table
            caption="What is paused"
            rows={items}
            keyOf={({ scope, key }) => `${scope} ${key}`}
            columns={[
              { title: "What", cell: (gate) => <strong>{nameOf(gate)}</strong> },
              { title: "Waiting", kind: "number", cell: ({ waiting, exact }) => countOf(waiting, exact) },
              { title: "Why", cell: ({ reason }) => reason ?? "–" },
              { title: "By", cell: ({ set_by }) => set_by },
              { title: "Since", kind: "short", cell: ({ set_at }) => <Time at={set_at} /> },
              {
                title: "Until",
                kind: "short",
                cell: ({ until }) => (until === null ? "resumed" : <Time at={until} />),
              },
              {
                title: "Actions",
                kind: "actions",
                cell: (gate) =>
                  may("set_gate") && (
                    <Button icon="run" busy={change.isPending} onClick={() => change.mutate(gate)}>
                      Resume
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Load>
      {gates.data?.items.length === 0 && <p class="inset">Nothing is paused.</p>}
    </Panel>
  );
}

interface LimitsProps {
  readonly title?: string;
  /** Which of them are shown. Default: all. */
  readonly of?: (limit: Limit) => boolean;
  /** What a new limit is about. Default: none is set here. */
  readonly about?: Pick<Limit, "scope" | "key">;
}

export function Limits({ title = "Limits", of = () => true, about }: LimitsProps): JSX.Element {
  const may = useMay();
  const [editing, setEditing] = useState<Limit>();
  const [isSetting, setSetting] = useState(false);
  const limits = useQuery({
    queryKey: ["limits"],
    queryFn: () => bodyOf(api.GET("/v1/limits")),
    meta: { live: true },
  });
  const remove = useChange<Limit>({
    run: ({ scope, key }) => api.DELETE("/v1/limits", { params: { query: { scope, key } } }),
    done: ({ scope, key }) => `Removed the limit of the ${scope} ${key}`,
  });
  return (
    <Panel
      title={title}
      actions={
        about === undefined ? (
          <CopyAs commands={wholeList("limits", apiBase)} />
        ) : (
          may("set_limit") && (
            <Button icon="plus" onClick={() => setSetting(true)}>
              Set a limit
            </Button>
          )
        )
      }
      flush
    >
      <Load query={limits} rows={2}>
        {({ items }) => (
          <Table
            caption="Limits"
            rows={items.filter(of)}
            keyOf={({ scope, key }) => `${scope} ${key}`}
            columns={[
              {
                title: "What",
                cell: ({ scope, key, tenant_label }) => (
                  <strong>
                    {scope.replace("_", " and ")} {tenant_label ?? key}
                  </strong>
                ),
              },
              { title: "Allows", cell: allowance },
              { title: "In use", cell: useOf },
              {
                title: "Waiting",
                kind: "number",
                cell: ({ waiting, exact }) =>
                  waiting === null ? "–" : `${exact === false ? "≥ " : ""}${countOf(waiting)}`,
              },
              { title: "By", cell: ({ set_by }) => set_by },
              { title: "Since", kind: "short", cell: ({ set_at }) => <Time at={set_at} /> },
              {
                title: "Actions",
                kind: "actions",
                cell: (limit) =>
                  may("remove_limit") && (
                    <>
                      <Button icon="edit" onClick={() => setEditing(limit)}>
                        Edit
                      </Button>{" "}
                      <Button icon="trash" busy={remove.isPending} onClick={() => remove.mutate(limit)}>
                        Remove
                      </Button>
                    </>
                  ),
              },
            ]}
          />
        )}
      </Load>
      {limits.data?.items.filter(of).length === 0 && <p class="inset">There is no limit.</p>}
      {isSetting && about !== undefined && <LimitDialog about={about} onClose={() => setSetting(false)} />}
      {editing !== undefined && <LimitDialog limit={editing} onClose={() => setEditing(undefined)} />}
    </Panel>
  );
}

/** How much of the limit is used now. */
function useOf({ max_running, running, rate, tokens, next_at }: Limit): ComponentChildren {
  const parts: JSX.Element[] = [];
  if (max_running !== null && running !== null)
    parts.push(
      <Bar key="running" part={running} all={max_running} warns label={`${running} of ${max_running} run`} />,
    );
  if (rate !== null && tokens !== null)
    parts.push(
      <span key="tokens">
        {plural(tokens, "start")} left
        {next_at !== null && (
          <>
            , the next <Time at={next_at} />
          </>
        )}
      </span>,
    );
  return parts.length === 0 ? "–" : parts;
}

/** "2 at once, 600 per 1 m in bursts of 50". */
export function allowance({ max_running, rate, per, burst }: Limit): string {
  const parts = [
    max_running === null ? undefined : `${max_running} at once`,
    rate === null ? undefined : `${rate} per ${per === null ? "second" : spanOf(per)}`,
    burst === null ? undefined : `in bursts of ${burst}`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

/** An interval of Postgres, "00:01:00", as people read it. */
function spanOf(interval: string): string {
  const [, hours = "0", minutes = "0", seconds = "0"] = /^(\d+):(\d+):([\d.]+)$/.exec(interval) ?? [];
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return ms === 0 ? interval : duration(ms);
}
