/** Changes a queued job, or enqueues a changed copy of any job. Digits of numbers in the payload stay as they are. */
import { useMutation, useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { apiBase } from "../../api/client.ts";
import type { Job, JobName } from "../../api/jobs.ts";
import { problemOf } from "../../api/problem.ts";
import { type Exact, jsonError, parseExact, writeExact } from "../../lib/json.ts";
import { navigate } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { ProblemNote } from "../../ui/States.tsx";
import { say } from "../../ui/Toasts.tsx";

interface EditJobProps {
  readonly mode: "change" | "copy";
  readonly name: JobName;
  readonly row: Job;
  readonly payload: Exact;
  readonly onClose: () => void;
}

export function EditJob({ mode, name, row, payload, onClose }: EditJobProps): JSX.Element {
  const client = useQueryClient();
  const id = useId();
  const [text, setText] = useState(() => writeExact(payload, 2));
  const [priority, setPriority] = useState(String(row.priority));
  const [tags, setTags] = useState(row.tags.join(" "));
  const problem = jsonError(text);
  const tagList = tags.split(/\s+/).filter(Boolean);
  const save = useMutation({
    mutationFn: async () => {
      // Written by hand: JSON.stringify of a parsed payload would round long numbers.
      const rest = JSON.stringify({ priority: Number(priority), tags: tagList }).slice(1);
      const body = `{"payload":${writeExact(parseExact(text))},${rest}`;
      return mode === "change"
        ? await send("PATCH", `/v1/jobs/${row.id}`, name, body)
        : await enqueueCopy(row, body);
    },
    onSuccess: (job) => {
      say(mode === "change" ? "The job is changed" : "The copy is queued");
      onClose();
      if (mode === "copy") navigate(`/jobs/${job.id}`, { of: row.tenant_id });
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Dialog
      wide
      title={mode === "change" ? "Edit the job" : "Edit a copy and run it"}
      onClose={onClose}
      onSubmit={() => problem === undefined && save.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Discard</Button>
          <Button
            type="submit"
            kind="primary"
            busy={save.isPending}
            blocked={problem === undefined ? undefined : "The payload is not JSON"}
          >
            {mode === "change" ? "Save the job" : "Enqueue the copy"}
          </Button>
        </>
      }
    >
      {mode === "copy" && <p>The copy is a new job of the type {row.type}. The original stays as it is.</p>}
      <Field label="Payload" id={`${id}-payload`} problem={problem}>
        <textarea
          id={`${id}-payload`}
          rows={14}
          spellcheck={false}
          value={text}
          aria-invalid={problem !== undefined}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </Field>
      <Field label="Priority" id={`${id}-priority`}>
        <input
          id={`${id}-priority`}
          type="number"
          value={priority}
          onInput={({ currentTarget }) => setPriority(currentTarget.value)}
        />
      </Field>
      <Field label="Tags, separated by spaces" id={`${id}-tags`}>
        <input
          id={`${id}-tags`}
          type="text"
          value={tags}
          onInput={({ currentTarget }) => setTags(currentTarget.value)}
        />
      </Field>
      {save.error !== null && <ProblemNote error={save.error} />}
    </Dialog>
  );
}

/** Sends a body that is already JSON. The typed client would parse and write it again. */
async function send(
  method: string,
  path: string,
  { tenant }: JobName,
  body: string,
): Promise<{ readonly id: string }> {
  const query = tenant === undefined ? "" : `?tenant_id=${tenant}`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${apiBase}${path}${query}`, {
    method,
    headers,
    body,
    credentials: "same-origin",
  });
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as { id: string };
}

function enqueueCopy(row: Job, body: string): Promise<{ readonly id: string }> {
  const rest = JSON.stringify({
    type: row.type,
    subject: row.subject,
    concurrency_key: row.concurrency_key,
  }).slice(1);
  return send("POST", "/v1/jobs", { id: row.id, tenant: row.tenant_id }, `${body.slice(0, -1)},${rest}`);
}
