/** One step: what it is, how it went, and what can be done about it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useMay } from "../../api/session.ts";
import { retryWorkflow, type Step, type WorkflowName } from "../../api/workflows.ts";
import { count, plural } from "../../lib/format.ts";
import { type Exact, field, isObject } from "../../lib/json.ts";
import { itemsOf } from "../../lib/steps.ts";
import { Button } from "../../ui/Button.tsx";
import { Json } from "../../ui/Json.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, Panel } from "../../ui/Panel.tsx";
import { Status, type StatusWord } from "../../ui/Status.tsx";
import { Time, Took } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { ResolveDialog } from "./dialogs.tsx";
import { errorOf } from "./errorOf.ts";
import { whatOf } from "./Tree.tsx";
import css from "./Workflows.module.css";

interface StepPanelProps {
  readonly name: WorkflowName;
  readonly step: Step;
  readonly steps: readonly Step[];
}

export function StepPanel({ name, step, steps }: StepPanelProps): JSX.Element {
  const isBad = step.status === "failed" || step.status === "dead";
  return (
    <Panel
      title={`Step ${step.path}`}
      note={<Status word={step.status as StatusWord} />}
      tone={isBad ? "bad" : step.status === "waiting" ? "warn" : "plain"}
      actions={isBad && <Actions name={name} step={step} />}
    >
      <div class={css["step"]}>
        {step.error !== null && <p class={css["error"]}>{errorOf(step)}</p>}
        <Facts facts={factsOf(step, steps)} />
        <Part title="Payload" value={field(step.exact, "payload")} />
        <Part title="Result" value={field(step.exact, "result")} />
        <Part title="Error" value={field(step.exact, "error")} />
        {step.kind === "map" && <Items items={itemsOf(steps, step.id)} of={step.tenant_id} />}
      </div>
    </Panel>
  );
}

function Actions({ name, step }: { name: WorkflowName; step: Step }): JSX.Element {
  const may = useMay();
  const [isResolving, setResolving] = useState(false);
  const retry = useChange({
    run: () => retryWorkflow(name, [step.path]),
    done: () => `The step ${step.path} runs again`,
  });
  return (
    <>
      {may("retry_workflow") && (
        <Button icon="run" busy={retry.isPending} onClick={() => retry.mutate()}>
          Retry the step
        </Button>
      )}
      {may("resolve_step") && (
        <Button icon="check" onClick={() => setResolving(true)}>
          Resolve by hand
        </Button>
      )}
      {isResolving && <ResolveDialog name={name} step={step.path} onClose={() => setResolving(false)} />}
    </>
  );
}

function factsOf(
  step: Step,
  steps: readonly Step[],
): readonly (readonly [string, JSX.Element | string] | false)[] {
  return [
    ["What", whatOf(step, steps)],
    step.job_id !== null && [
      "Job",
      <Link key="j" to={`/jobs/${step.job_id}`} params={{ of: step.tenant_id }}>
        {step.job_id}
      </Link>,
    ],
    step.needs.length > 0 && [
      "Needs",
      step.needs
        .map((need) => (need.policy === "cancel" ? need.step : `${need.step} (${need.policy})`))
        .join(", "),
    ],
    step.opened_at !== null && ["Ready", <Time key="o" at={step.opened_at} />],
    step.ended_at !== null && ["Ended", <Time key="e" at={step.ended_at} />],
    step.opened_at !== null && [
      step.ended_at === null ? "For" : "Took",
      <Took key="t" from={step.opened_at} to={step.ended_at} />,
    ],
    step.reason !== null && ["Because", step.reason.replaceAll("_", " ")],
    step.cost_cents !== null && ["Cost", `${step.cost_cents} cents`],
    step.optional && ["Optional", "its failure does not fail the workflow"],
    step.cleanup && ["Cleanup", "it runs also after a cancellation"],
  ];
}

function Part({ title, value }: { title: string; value: Exact | undefined }): JSX.Element | null {
  const isEmpty = isObject(value) && Object.keys(value).length === 0;
  if (value === undefined || value === null || isEmpty) return null;
  return (
    <section>
      <h3>{title}</h3>
      <Json value={value} what={`the ${title.toLowerCase()}`} />
    </section>
  );
}

const mostItems = 50;

function Items({ items, of }: { items: readonly Step[]; of: string }): JSX.Element {
  const worst = [...items].sort((a, b) => rank(a) - rank(b) || a.index - b.index);
  return (
    <section>
      <h3>{plural(items.length, "item")}</h3>
      <ul class={css["items"]}>
        {worst.slice(0, mostItems).map((item) => (
          <li key={item.id}>
            {item.job_id === null ? (
              <span>{item.index}</span>
            ) : (
              <Link to={`/jobs/${item.job_id}`} params={{ of }}>
                Item {item.index}
              </Link>
            )}
            <Status word={item.status as StatusWord} />
          </li>
        ))}
      </ul>
      {items.length > mostItems && <p>… and {count(items.length - mostItems)} more</p>}
    </section>
  );
}

/** What failed comes first. */
function rank({ status }: Step): number {
  return ["failed", "dead"].includes(status) ? 0 : status === "running" ? 1 : 2;
}
