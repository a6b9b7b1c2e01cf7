/** Enables or disables all schedules that the page shows, one after the other, with a stop and a way back. */
import { useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { count, plural } from "../../lib/format.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { ProblemNote } from "../../ui/States.tsx";
import { say, sayProblem } from "../../ui/Toasts.tsx";
import progress from "../jobs/BulkDialog.module.css";
import { type Schedule, setEnabled } from "./Schedules.tsx";

interface ManyDialogProps {
  readonly schedules: readonly Schedule[];
  readonly isEnabling: boolean;
  readonly onClose: () => void;
}

export function ManyDialog({ schedules, isEnabling, onClose }: ManyDialogProps): JSX.Element {
  // What was shown when the dialog opened is what the user agrees to.
  const [agreed] = useState(schedules);
  const [changed, setChanged] = useState<number>();
  const [problem, setProblem] = useState<unknown>();
  const isStopped = useRef(false);
  const client = useQueryClient();
  const reload = (): Promise<void> => client.invalidateQueries({ queryKey: ["schedules"] });
  const verb = isEnabling ? "Enable" : "Disable";
  const isRunning = changed !== undefined && problem === undefined;
  const undo = (done: readonly Schedule[]) => (): void =>
    void setAll(done, !isEnabling, () => true)
      .then(() => say("They are as they were before"), sayProblem)
      .then(reload);
  const run = async (): Promise<void> => {
    if (isRunning) return;
    const done: Schedule[] = [];
    isStopped.current = false;
    setProblem(undefined);
    setChanged(0);
    try {
      await setAll(agreed, isEnabling, (schedule) => {
        done.push(schedule);
        setChanged(done.length);
        return !isStopped.current;
      });
      say(`${verb}d ${plural(done.length, "schedule")}`, { label: "Undo", run: undo(done) });
      onClose();
    } catch (error) {
      setProblem(error);
    }
    await reload();
  };
  const stop = (): void => {
    isStopped.current = true;
  };
  const tenants = new Set(agreed.map(({ tenant_id }) => tenant_id)).size;
  return (
    <Dialog
      title={`${verb} schedules`}
      onClose={isRunning ? stop : onClose}
      onSubmit={() => void run()}
      actions={
        isRunning ? (
          <Button icon="pause" onClick={stop}>
            Stop
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Keep them as they are</Button>
            <Button type="submit" kind={isEnabling ? "primary" : "danger"}>
              {verb} {plural(agreed.length, "schedule")}
            </Button>
          </>
        )
      }
    >
      <p>
        {isEnabling
          ? "Each runs at its next time, or at once if that has passed."
          : "None of them runs until it is enabled again. Runs that have begun go on."}
      </p>
      <p>
        {plural(agreed.length, "schedule")} of {plural(tenants, "tenant")}
      </p>
      {changed !== undefined && (
        <p class={progress["progress"]}>
          <progress max={agreed.length} value={changed} aria-label="Changed schedules" />
          <output>
            {count(changed)} of {count(agreed.length)}
          </output>
        </p>
      )}
      {problem !== undefined && <ProblemNote error={problem} />}
    </Dialog>
  );
}

/** One after the other. `onDone` says whether to go on. */
async function setAll(
  schedules: readonly Schedule[],
  isEnabled: boolean,
  onDone: (schedule: Schedule) => boolean,
): Promise<void> {
  for (const schedule of schedules) {
    await setEnabled(schedule, isEnabled);
    if (!onDone(schedule)) return;
  }
}
