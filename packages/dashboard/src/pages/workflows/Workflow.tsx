/** One workflow: how far it is, what it waits for, its steps as a graph and as a tree, and what can be done. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { apiBase } from "../../api/client.ts";
import { problemFrom } from "../../api/problem.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import {
  mostSteps,
  retryWorkflow,
  type Step,
  useSteps,
  useWorkflow,
  type WorkflowDetails,
  type WorkflowName,
} from "../../api/workflows.ts";
import { workflowCommands } from "../../lib/commands.ts";
import { count, plural } from "../../lib/format.ts";
import { type Exact, field } from "../../lib/json.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs, copy } from "../../ui/Copy.tsx";
import { Json } from "../../ui/Json.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Empty, Load, ProblemNote, Skeleton } from "../../ui/States.tsx";
import { Status, type StatusWord } from "../../ui/Status.tsx";
import { Time, Took } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import job from "../job/Job.module.css";
import { CancelDialog, SignalDialog } from "./dialogs.tsx";
import { Graph } from "./Graph.tsx";
import { StepPanel } from "./StepPanel.tsx";
import { Tree } from "./Tree.tsx";
import css from "./Workflows.module.css";

export function Workflow({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const id = params["id"] ?? "";
  const chosen = useTenant();
  const of = new URLSearchParams(useSearch()).get("of") ?? undefined;
  const name: WorkflowName = { id, tenant: of ?? chosen };
  const isNamed = !useSeesTenants() || name.tenant !== undefined;
  const workflow = useWorkflow(name, isNamed);
  if (workflow.data !== undefined)
    return <Loaded name={name} row={workflow.data.row} exact={workflow.data.exact} />;
  const isMissing = workflow.error !== null && [400, 404].includes(problemFrom(workflow.error).status);
  return (
    <>
      <PageHead title="Workflow" />
      {!isNamed && (
        <Empty title="Choose a tenant above">
          <p>A workflow is found by its tenant and its id.</p>
        </Empty>
      )}
      {isMissing && (
        <Empty title="There is no such workflow">
          <p>
            It never existed, belongs to another tenant, or its retention has ended: <code>{id}</code>
          </p>
          <Link to="/workflows">See all workflows</Link>
        </Empty>
      )}
      {workflow.error !== null && !isMissing && (
        <ProblemNote error={workflow.error} onRetry={() => void workflow.refetch()} />
      )}
      {isNamed && workflow.error === null && <Skeleton rows={8} />}
    </>
  );
}

interface Shown {
  readonly name: WorkflowName;
  readonly row: WorkflowDetails;
}

function Loaded({ name, row, exact }: Shown & { exact: Exact }): JSX.Element {
  const steps = useSteps(name);
  const output = field(exact, "output") ?? null;
  return (
    <>
      <PageHead title={row.name} note={<Status word={row.status} />}>
        <Actions name={name} row={row} />
      </PageHead>
      <Sentence row={row} />
      <Waits name={name} row={row} />
      <Load query={steps} rows={8}>
        {({ items, isCut }) => <Steps name={name} row={row} steps={items} isCut={isCut} />}
      </Load>
      <div class={css["pair"]}>
        <Panel title="Input">
          <Json value={field(exact, "input") ?? null} what="the input" />
        </Panel>
        {output !== null && (
          <Panel title="Output">
            <Json value={output} what="the output" />
          </Panel>
        )}
        <About row={row} />
      </div>
    </>
  );
}

function Sentence({ row }: { row: WorkflowDetails }): JSX.Element {
  const seesTenants = useSeesTenants();
  const counts = Object.entries(row.counts);
  return (
    <p class={job["sentence"]}>
      <button type="button" class={job["id"]} title="Copy the id" onClick={() => void copy(row.id, "the id")}>
        {row.id}
      </button>
      {seesTenants && <span>of {tenantName({ label: row.tenant_label, tenant_id: row.tenant_id })}</span>}
      {row.subject !== null && <span>about {row.subject}</span>}
      {counts.map(([status, steps]) => (
        <Status key={status} word={status as StatusWord} label={`${count(steps)} ${status}`} />
      ))}
    </p>
  );
}

function Actions({ name, row }: Shown): JSX.Element {
  const may = useMay();
  const [opened, open] = useState<"cancel" | "signal">();
  const isOver = row.finished_at !== null;
  const isBad = row.failed.length > 0 || row.status === "canceled" || row.status === "failed";
  const retry = useChange({
    run: () => retryWorkflow(name),
    done: () => "What ended badly runs again. Results of other steps are kept",
  });
  const ended = isOver ? `The workflow is ${row.status}` : undefined;
  const close = (): void => open(undefined);
  return (
    <>
      {may("retry_workflow") && (
        <Button
          icon="run"
          kind={isBad ? "primary" : "plain"}
          blocked={isBad ? undefined : "No step ended badly"}
          busy={retry.isPending}
          onClick={() => retry.mutate()}
        >
          Retry what failed
        </Button>
      )}
      {may("send_signal") && (
        <Button icon="bell" blocked={ended} onClick={() => open("signal")}>
          Send a signal
        </Button>
      )}
      {may("cancel_workflow") && (
        <Button
          icon="cancel"
          blocked={ended ?? (row.cancel_at === null ? undefined : "Its cancellation was already requested")}
          onClick={() => open("cancel")}
        >
          Cancel
        </Button>
      )}
      <CopyAs
        commands={workflowCommands(row.id, row.tenant_id, apiBase)}
        more={[["The link to this page", () => void copy(location.href, "the link")]]}
      />
      {opened === "cancel" && <CancelDialog name={name} row={row} onClose={close} />}
      {opened === "signal" && <SignalDialog name={name} onClose={close} />}
    </>
  );
}

/** The signals that the workflow waits for, each with the button that sends it. */
function Waits({ name, row }: Shown): JSX.Element | null {
  const may = useMay();
  const [asked, ask] = useState<string>();
  if (row.waits.length === 0 || row.finished_at !== null) return null;
  return (
    <Panel title="It waits for" tone="warn">
      <ul class={css["waits"]}>
        {row.waits.map(({ step, signal, since, until }) => (
          <li key={step}>
            <p>
              The signal <b>{signal}</b> in the step {step}, since <Time at={since} />
              {until !== undefined && (
                <>
                  . It stops waiting <Time at={until} />
                </>
              )}
            </p>
            {may("send_signal") && (
              <Button kind="primary" icon="check" onClick={() => ask(signal)}>
                {/^approv/i.test(signal) ? "Approve" : `Send ${signal}`}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {asked !== undefined && <SignalDialog name={name} signal={asked} onClose={() => ask(undefined)} />}
    </Panel>
  );
}

function Steps({ name, row, steps, isCut }: Shown & { steps: readonly Step[]; isCut: boolean }): JSX.Element {
  const chosen = new URLSearchParams(useSearch()).get("step");
  const step = steps.find(({ path }) => path === chosen) ?? worthSeeing(steps);
  return (
    <>
      <Panel
        title="Graph"
        note={isCut ? `The first ${count(mostSteps)} steps` : plural(row.step_count, "step")}
        flush
      >
        <Graph steps={steps} chosen={step?.path} of={row.tenant_id} id={row.id} />
      </Panel>
      <div class={job["columns"]}>
        <Panel title="Steps" flush>
          <Tree steps={steps} chosen={step?.path} of={row.tenant_id} id={row.id} />
        </Panel>
        {step !== undefined && <StepPanel name={name} step={step} steps={steps} />}
      </div>
    </>
  );
}

/** The step that a reader most likely looks for: what failed, else what runs or waits, else the last one. */
function worthSeeing(steps: readonly Step[]): Step | undefined {
  for (const statuses of [["failed", "dead"], ["waiting", "running"], ["queued"]]) {
    const found = steps.find(({ status, name }) => name !== null && statuses.includes(status));
    if (found !== undefined) return found;
  }
  return steps.findLast(({ name }) => name !== null);
}

function About({ row }: { row: WorkflowDetails }): JSX.Element {
  return (
    <Panel title="About">
      <Facts
        facts={[
          ["Started", <Time key="s" at={row.created_at} />],
          row.finished_at !== null && ["Ended", <Time key="e" at={row.finished_at} />],
          [
            row.finished_at === null ? "For" : "Took",
            <Took key="t" from={row.created_at} to={row.finished_at} />,
          ],
          row.deadline !== null && ["Must end before", <Time key="d" at={row.deadline} />],
          row.reason !== null && ["Ended because", row.reason],
          row.cancel_at !== null && [
            "Cancellation",
            `${row.cancel_reason ?? "no reason"} (by ${row.cancel_by ?? "unknown"})`,
          ],
          ["When a step fails", row.on_failure === "cancel" ? "the others are canceled" : "the others go on"],
          ["Priority", String(row.priority)],
          row.version !== null && ["Version", row.version],
          row.tags.length > 0 && ["Tags", row.tags.join(", ")],
          row.idempotency_key !== null && ["Idempotency key", <code key="i">{row.idempotency_key}</code>],
          ["Kept", plural(row.retention_days, "day")],
        ]}
      />
    </Panel>
  );
}
