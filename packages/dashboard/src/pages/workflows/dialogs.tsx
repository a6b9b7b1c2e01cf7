/** What an operator decides about a workflow: cancel it, send it a signal, end a step by hand. */
import type { JSX } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { useMe } from "../../api/session.ts";
import {
  cancelWorkflow,
  type Resolution,
  resolveStep,
  sendSignal,
  type WorkflowDetails,
  type WorkflowName,
} from "../../api/workflows.ts";
import { plural } from "../../lib/format.ts";
import { jsonError, parseExact, writeExact } from "../../lib/json.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";

interface DialogProps {
  readonly name: WorkflowName;
  readonly onClose: () => void;
}

export function CancelDialog({
  name,
  row,
  onClose,
}: DialogProps & { readonly row: WorkflowDetails }): JSX.Element {
  const id = useId();
  const [reason, setReason] = useState("");
  const cancel = useChange({
    run: () => cancelWorkflow(name, reason.trim()),
    done: () => "The workflow ends when its last job has ended",
    after: onClose,
  });
  const ended = (row.counts["succeeded"] ?? 0) + (row.counts["skipped"] ?? 0);
  return (
    <Dialog
      title={`Cancel ${row.name}`}
      onClose={onClose}
      onSubmit={() => cancel.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Let it go on</Button>
          <Button type="submit" kind="danger" busy={cancel.isPending}>
            Cancel the workflow
          </Button>
        </>
      }
    >
      <p>
        {plural(Math.max(0, row.step_count - ended), "step")} of {row.step_count} will not succeed. Queued
        jobs are canceled at once, running ones are asked to stop, and only steps for cleanup start.
      </p>
      <Field label="Reason" id={id} hint="It is kept with the workflow and in the audit log.">
        <input
          id={id}
          type="text"
          maxLength={1000}
          autocomplete="off"
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}

export function SignalDialog({
  name,
  signal = "",
  onClose,
}: DialogProps & { readonly signal?: string }): JSX.Element {
  const id = useId();
  const me = useMe();
  const [typed, setTyped] = useState(signal);
  const [text, setText] = useState(() =>
    JSON.stringify(me.name === null ? {} : { by: me.name }, undefined, 2),
  );
  // One key per dialog: a second click sends nothing twice.
  const key = useMemo(() => `dashboard-${Date.now()}-${Math.random().toString(36).slice(2)}`, []);
  const problem = jsonError(text);
  const send = useChange({
    run: () => sendSignal(name, typed.trim(), writeExact(parseExact(text)), key),
    done: () => `Sent ${typed.trim()}`,
    after: onClose,
  });
  const blocked =
    typed.trim() === "" ? "Name the signal" : problem === undefined ? undefined : "The payload is not JSON";
  return (
    <Dialog
      title={signal === "" ? "Send a signal" : `Send ${signal}`}
      onClose={onClose}
      onSubmit={() => blocked === undefined && send.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Send nothing</Button>
          <Button type="submit" kind="primary" busy={send.isPending} blocked={blocked}>
            Send {typed.trim() || "the signal"}
          </Button>
        </>
      }
    >
      <p>The step that waits for the signal has this payload as its result, and what needs it goes on.</p>
      <Field label="Name of the signal" id={`${id}-name`}>
        <input
          id={`${id}-name`}
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </Field>
      <JsonField label="Payload" id={`${id}-payload`} text={text} onChange={setText} />
    </Dialog>
  );
}

export function ResolveDialog({ name, step, onClose }: DialogProps & { readonly step: string }): JSX.Element {
  const id = useId();
  const [status, setStatus] = useState<Resolution>("succeeded");
  const [text, setText] = useState("{}");
  const hasResult = status === "succeeded";
  const problem = hasResult ? jsonError(text) : undefined;
  const resolve = useChange({
    run: () => resolveStep(name, step, status, hasResult ? writeExact(parseExact(text)) : "null"),
    done: () => `The step ${step} is ${status}`,
    after: onClose,
  });
  return (
    <Dialog
      title={`Resolve ${step} by hand`}
      onClose={onClose}
      onSubmit={() => problem === undefined && resolve.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Leave it as it is</Button>
          <Button
            type="submit"
            kind="primary"
            busy={resolve.isPending}
            blocked={problem === undefined ? undefined : "The result is not JSON"}
          >
            {hasResult ? "End it as succeeded" : "Skip it"}
          </Button>
        </>
      }
    >
      <p>The step does not run again. What needs it goes on, as if the step had ended like this.</p>
      <Field label="It ends as" id={`${id}-status`}>
        <select
          id={`${id}-status`}
          value={status}
          onChange={({ currentTarget }) => setStatus(currentTarget.value as Resolution)}
        >
          <option value="succeeded">succeeded, with a result</option>
          <option value="skipped">skipped, without a result</option>
        </select>
      </Field>
      {hasResult && <JsonField label="Result" id={`${id}-result`} text={text} onChange={setText} />}
    </Dialog>
  );
}

interface JsonFieldProps {
  readonly label: string;
  readonly id: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

function JsonField({ label, id, text, onChange }: JsonFieldProps): JSX.Element {
  const problem = jsonError(text);
  return (
    <Field label={`${label}, as JSON`} id={id} problem={problem}>
      <textarea
        id={id}
        rows={6}
        spellcheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}
