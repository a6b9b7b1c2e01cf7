/** What a job was given and what it made. Values of masked keys are shown to operators who ask for them. */
import type { JSX } from "preact";
import { revealJob } from "../../api/job.ts";
import type { JobName, Job as JobRow } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { bytes } from "../../lib/format.ts";
import { type Exact, hasMasks, writeExact } from "../../lib/json.ts";
import { Button } from "../../ui/Button.tsx";
import { Json } from "../../ui/Json.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { useChange } from "../../ui/useChange.ts";
import { Compare } from "./Compare.tsx";
import css from "./Job.module.css";

export interface JobData {
  readonly payload: Exact;
  readonly progress: Exact;
  readonly result: Exact;
  /** Without masks. It is kept only as long as the page of this job is open. */
  readonly isRevealed: boolean;
}

interface DataProps {
  readonly name: JobName;
  readonly row: JobRow;
  readonly data: JobData;
  readonly onReveal: (revealed: Exact) => void;
}

export function Data({ name, row, data, onReveal }: DataProps): JSX.Element {
  const { payload, progress, result, isRevealed } = data;
  const isMasked = hasMasks(writeExact([payload, progress, result]));
  return (
    <>
      <Panel title="Payload" note={bytes(writeExact(payload).length)}>
        <Json value={payload} what="the payload" />
        {isMasked && !isRevealed && <Masked name={name} onReveal={onReveal} />}
        {isRevealed && <p class={css["masked"]}>Shown without masks. The audit log has an entry about it.</p>}
        {(row.status === "dead" || row.status === "failed") && (
          <div class={css["compare"]}>
            <Compare job={row} payload={payload} />
          </div>
        )}
      </Panel>
      {progress !== null && (
        <Panel title="Progress">
          <Json value={progress} what="the progress" />
        </Panel>
      )}
      {result !== null && (
        <Panel title="Result">
          <Json value={result} what="the result" />
        </Panel>
      )}
    </>
  );
}

function Masked({ name, onReveal }: Pick<DataProps, "name" | "onReveal">): JSX.Element {
  const may = useMay();
  const change = useChange({
    run: async () => onReveal(await revealJob(name)),
    done: () => "The audit log says that you have seen the masked values",
  });
  return (
    <p class={css["masked"]}>
      Values of keys that the policy masks are hidden.{" "}
      {may("reveal_job") ? (
        <Button busy={change.isPending} onClick={() => change.mutate()}>
          Show them, on the record
        </Button>
      ) : (
        "An operator can see them."
      )}
    </p>
  );
}
