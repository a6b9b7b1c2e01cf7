/** Changes a queued job, or enqueues a changed copy of any job. Digits of numbers in the payload stay as they are. */
import { useMutation, useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Job, JobName } from "../../api/jobs.ts";
import { sendRaw, withPayload } from "../../api/raw.ts";
import { type Exact, hasMasks, jsonError, parseExact, writeExact } from "../../lib/json.ts";
import { navigate } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { ProblemNote } from "../../ui/States.tsx";
import { say } from "../../ui/Toasts.tsx";

interface Made {
  readonly id: string;
}

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
  const [before] = useState(() => writeExact(payload, 2));
  const [text, setText] = useState(before);
  const [priority, setPriority] = useState(String(row.priority));
  const [tags, setTags] = useState(row.tags.join(" "));
  const isChanged = text !== before;
  const problem = jsonError(text) ?? (isChanged && hasMasks(text) ? masksWords : undefined);
  const tagList = tags.split(/\s+/).filter(Boolean);
  const save = useMutation({
    mutationFn: async () => {
      const changes = { priority: Number(priority), tags: tagList };
      // A payload that is not changed is not sent: it may be masked here, and the server has it.
      const body = isChanged ? withPayload(changes, writeExact(parseExact(text))) : JSON.stringify(changes);
      return mode === "change"
        ? await sendRaw<Made>("PATCH", `/v1/jobs/${row.id}`, name.tenant, body)
        : await sendRaw<Made>("POST", `/v1/jobs/${row.id}/copy`, name.tenant, body);
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
            blocked={problem === undefined ? undefined : "The payload cannot be used like this"}
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

const masksWords =
  "It has masked values, which would replace the real ones. Show them on the page of the job first.";
