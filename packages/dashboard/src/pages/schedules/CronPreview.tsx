/** Shows when a cron expression would run, before a schedule has it. */
import { useMutation } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { localZone } from "../../lib/time.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { ProblemNote } from "../../ui/States.tsx";
import { NextRuns } from "./NextRuns.tsx";

interface Asked {
  readonly expression: string;
  readonly timezone: string;
}

export function CronPreview({ onClose }: { onClose: () => void }): JSX.Element {
  const id = useId();
  const [expression, setExpression] = useState("");
  const [timezone, setTimezone] = useState(localZone);
  const preview = useMutation({
    mutationFn: async (asked: Asked) => {
      const { items } = await bodyOf(api.POST("/v1/cron/preview", { body: { ...asked, count: 10 } }));
      return { items, zone: asked.timezone };
    },
  });
  const blocked = expression.trim() === "" ? "Write an expression" : undefined;
  return (
    <Dialog
      title="Preview a cron expression"
      onClose={onClose}
      onSubmit={() =>
        blocked === undefined &&
        preview.mutate({ expression: expression.trim(), timezone: timezone.trim() || "UTC" })
      }
      actions={
        <Button type="submit" kind="primary" busy={preview.isPending} blocked={blocked}>
          Show the next runs
        </Button>
      }
    >
      <Field label="Expression" id={`${id}-cron`} hint="Minute, hour, day, month, day of the week.">
        <input
          id={`${id}-cron`}
          type="text"
          placeholder="0 9 * * mon-fri"
          autocomplete="off"
          spellcheck={false}
          value={expression}
          onInput={({ currentTarget }) => setExpression(currentTarget.value)}
        />
      </Field>
      <Field label="Time zone" id={`${id}-zone`}>
        <input
          id={`${id}-zone`}
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={timezone}
          onInput={({ currentTarget }) => setTimezone(currentTarget.value)}
        />
      </Field>
      {preview.error !== null && <ProblemNote error={preview.error} />}
      {preview.data !== undefined && <NextRuns times={preview.data.items} zone={preview.data.zone} />}
    </Dialog>
  );
}
