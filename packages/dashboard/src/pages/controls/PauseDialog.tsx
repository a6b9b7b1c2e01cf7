/** Pauses everything, a type or a tenant, with a reason that everyone sees and an end. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { pause, resume } from "../../api/gates.ts";
import { useTenantNames } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";
import { KeyField } from "./KeyField.tsx";

type Scope = "all" | "type" | "tenant";

interface PauseDialogProps {
  readonly scope: Scope;
  /** The type or the id of the tenant. Empty: the user writes it. */
  readonly name: string;
  readonly onClose: () => void;
}

const ends: readonly (readonly [string, number | undefined])[] = [
  ["Until it is resumed", undefined],
  ["For 15 minutes", 15],
  ["For an hour", 60],
  ["For a day", 1440],
];

export function PauseDialog({ scope, name, onClose }: PauseDialogProps): JSX.Element {
  const [reason, setReason] = useState("");
  const [minutes, setMinutes] = useState("");
  const [chosen, setChosen] = useState<Scope>(scope);
  const [key, setKey] = useState(name);
  const tenantOf = useTenantNames();
  const what = chosen === "all" ? "everything" : `the ${chosen} ${chosen === "tenant" ? tenantOf(key) : key}`;
  const change = useChange({
    run: () => {
      const until = minutes === "" ? null : new Date(Date.now() + Number(minutes) * 60_000).toISOString();
      return pause({ scope: chosen, key }, { reason: reason || null, until });
    },
    undo: () => resume({ scope: chosen, key }),
    done: () => `Paused ${what}`,
    after: onClose,
  });
  return (
    <Dialog
      title={name === "" ? "Pause" : `Pause ${what}`}
      onClose={onClose}
      onSubmit={() => change.mutate()}
      actions={
        <Button
          kind="primary"
          type="submit"
          busy={change.isPending}
          blocked={chosen !== "all" && key === "" ? "Name the type or tenant" : undefined}
        >
          {chosen !== "all" && key === "" ? "Pause" : `Pause ${what}`}
        </Button>
      }
    >
      <p>No new run begins. Jobs that run now go on, and jobs can still be enqueued.</p>
      {name === "" && (
        <>
          <Field label="What" id="pause-scope">
            <select
              id="pause-scope"
              value={chosen}
              onChange={({ currentTarget }) => {
                setChosen(currentTarget.value as Scope);
                setKey("");
              }}
            >
              <option value="type">A type</option>
              <option value="tenant">A tenant</option>
              <option value="all">Everything</option>
            </select>
          </Field>
          {chosen !== "all" && <KeyField id="pause-key" kind={chosen} value={key} onChange={setKey} />}
        </>
      )}
      <Field label="Reason" id="pause-reason" hint="Shown to everyone who asks why a job waits.">
        <input
          id="pause-reason"
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
      </Field>
      <Field label="How long" id="pause-until">
        <select
          id="pause-until"
          value={minutes}
          onChange={({ currentTarget }) => setMinutes(currentTarget.value)}
        >
          {ends.map(([label, length]) => (
            <option key={label} value={length ?? ""}>
              {label}
            </option>
          ))}
        </select>
      </Field>
    </Dialog>
  );
}
