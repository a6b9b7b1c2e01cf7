/** Creates a schedule, or changes when one runs and with what. The next runs are shown while the rhythm is written. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { problemFrom } from "../../api/problem.ts";
import { sendRaw, withPayload } from "../../api/raw.ts";
import { useSeesTenants } from "../../api/session.ts";
import { jsonError, parseExact, writeExact } from "../../lib/json.ts";
import { localZone } from "../../lib/time.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { navigate, useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";
import { NextRuns } from "./NextRuns.tsx";
import type { Schedule } from "./Schedules.tsx";

interface Draft {
  readonly tenant: string;
  readonly type: string;
  readonly key: string;
  readonly kind: "cron" | "every";
  readonly cron: string;
  readonly timezone: string;
  readonly every: string;
  readonly payload: string;
  readonly overlap: Schedule["overlap"];
  readonly missed: Schedule["missed"];
}

const overlaps: Readonly<Record<Schedule["overlap"], string>> = {
  skip: "Leave the run out",
  queue: "Run after it",
  allow: "Run next to it",
};
const misses: Readonly<Record<Schedule["missed"], string>> = {
  skip: "Leave them out",
  once: "Run once for all of them",
  all: "Run each of them",
};

interface EditScheduleProps {
  /** The schedule to change. Default: a new one. */
  readonly schedule?: Schedule;
  /** The payload of the schedule as JSON with exact numbers. */
  readonly payload?: string;
  readonly onClose: () => void;
}

export function EditSchedule({ schedule, payload = "{}", onClose }: EditScheduleProps): JSX.Element {
  const id = useId();
  const chosen = useTenant();
  const seesTenants = useSeesTenants();
  const [draft, setDraft] = useState<Draft>(() => draftOf(schedule, payload, chosen));
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const isNew = schedule === undefined;
  const save = useChange({
    run: () => saveDraft(draft, isNew),
    done: () => `${isNew ? "Created" : "Changed"} ${draft.type} ${draft.key}`,
    after: () => {
      onClose();
      if (isNew) navigate(pathOf(draft), draft.tenant === "" ? {} : { of: draft.tenant });
    },
  });
  const blocked = problemOf(draft, seesTenants);
  return (
    <Dialog
      wide
      title={isNew ? "Create a schedule" : `Change ${draft.type} ${draft.key}`}
      onClose={onClose}
      onSubmit={() => blocked === undefined && save.mutate()}
      actions={
        <Button type="submit" kind="primary" busy={save.isPending} blocked={blocked}>
          {isNew ? "Create the schedule" : "Change the schedule"}
        </Button>
      }
    >
      {isNew && <Name id={id} draft={draft} set={set} />}
      <Rhythm id={id} draft={draft} set={set} />
      <Field label="Payload" id={`${id}-payload`} problem={jsonError(draft.payload)}>
        <textarea
          id={`${id}-payload`}
          rows={5}
          spellcheck={false}
          value={draft.payload}
          onInput={({ currentTarget }) => set({ payload: currentTarget.value })}
        />
      </Field>
      <Choice
        label="If the last run is not over"
        id={`${id}-overlap`}
        value={draft.overlap}
        words={overlaps}
        onChange={(overlap) => set({ overlap })}
      />
      <Choice
        label="Runs that were missed"
        id={`${id}-missed`}
        value={draft.missed}
        words={misses}
        onChange={(missed) => set({ missed })}
      />
    </Dialog>
  );
}

function draftOf(schedule: Schedule | undefined, payload: string, tenant: string | undefined): Draft {
  return {
    tenant: schedule?.tenant_id ?? tenant ?? "",
    type: schedule?.type ?? "",
    key: schedule?.key ?? "",
    kind: schedule?.kind === "every" ? "every" : "cron",
    cron: schedule?.cron ?? "",
    timezone: schedule?.timezone ?? localZone(),
    every: schedule?.every ?? "15m",
    payload,
    overlap: schedule?.overlap ?? "skip",
    missed: schedule?.missed ?? "once",
  };
}

function problemOf(draft: Draft, seesTenants: boolean): string | undefined {
  if (seesTenants && draft.tenant === "") return "Choose a tenant";
  if (draft.type === "") return "Name the type of the jobs";
  if (draft.key === "") return "Name the schedule";
  if (draft.kind === "cron" && draft.cron.trim() === "") return "Write a cron expression";
  return jsonError(draft.payload) === undefined ? undefined : "The payload is not JSON";
}

const pathOf = ({ type, key }: Draft): string =>
  `/schedules/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;

function saveDraft(draft: Draft, isNew: boolean): Promise<unknown> {
  const { kind, cron, timezone, every, overlap, missed, tenant } = draft;
  const rhythm = kind === "cron" ? { cron: cron.trim(), timezone: timezone.trim() || "UTC" } : { every };
  const body = withPayload({ ...rhythm, overlap, missed }, writeExact(parseExact(draft.payload)));
  return sendRaw(isNew ? "PUT" : "PATCH", `/v1${pathOf(draft)}`, tenant === "" ? undefined : tenant, body);
}

interface PartProps {
  readonly id: string;
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
}

function Name({ id, draft, set }: PartProps): JSX.Element {
  const seesTenants = useSeesTenants();
  const { data: tenants } = useTenants();
  return (
    <>
      {seesTenants && (
        <Field label="Tenant" id={`${id}-tenant`}>
          <select
            id={`${id}-tenant`}
            value={draft.tenant}
            onChange={({ currentTarget }) => set({ tenant: currentTarget.value })}
          >
            <option value="">Choose one</option>
            {tenants?.items.map((each) => (
              <option key={each.tenant_id} value={each.tenant_id}>
                {tenantName(each)}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Text label="Type of the jobs" id={`${id}-type`} value={draft.type} onInput={(type) => set({ type })} />
      <Text label="Name of the schedule" id={`${id}-key`} value={draft.key} onInput={(key) => set({ key })} />
    </>
  );
}

function Rhythm({ id, draft, set }: PartProps): JSX.Element {
  const words = { cron: "At the times of a cron expression", every: "Again after a time" } as const;
  return (
    <>
      <Choice
        label="It runs"
        id={`${id}-kind`}
        value={draft.kind}
        words={words}
        onChange={(kind) => set({ kind })}
      />
      {draft.kind === "every" ? (
        <Text
          label="How long after"
          id={`${id}-every`}
          value={draft.every}
          hint="Such as 30s, 15m, 2h or 1 day."
          onInput={(every) => set({ every })}
        />
      ) : (
        <>
          <Text
            label="Cron expression"
            id={`${id}-cron`}
            value={draft.cron}
            hint="Minute, hour, day, month, day of the week: 0 9 * * mon-fri."
            onInput={(cron) => set({ cron })}
          />
          <Text
            label="Time zone"
            id={`${id}-zone`}
            value={draft.timezone}
            onInput={(timezone) => set({ timezone })}
          />
          <Preview cron={draft.cron.trim()} timezone={draft.timezone.trim() || "UTC"} />
        </>
      )}
    </>
  );
}

const shownRuns = 5;

/** An expression of fewer than five fields is not finished, so the server is not asked about it. */
function Preview({ cron, timezone }: { cron: string; timezone: string }): JSX.Element | null {
  const isWhole = cron.split(/\s+/).length >= 5 || cron.startsWith("@");
  const preview = useQuery({
    queryKey: ["cron-preview", cron, timezone],
    queryFn: () =>
      bodyOf(api.POST("/v1/cron/preview", { body: { expression: cron, timezone, count: shownRuns } })),
    enabled: isWhole,
    placeholderData: (before) => before,
    staleTime: 60_000,
  });
  if (!isWhole) return null;
  if (preview.error !== null) return <p role="alert">{problemFrom(preview.error).message}</p>;
  return preview.data === undefined ? null : <NextRuns times={preview.data.items} zone={timezone} />;
}

interface TextProps {
  readonly label: string;
  readonly id: string;
  readonly value: string;
  readonly hint?: string;
  readonly onInput: (value: string) => void;
}

function Text({ label, id, value, hint, onInput }: TextProps): JSX.Element {
  return (
    <Field label={label} id={id} {...(hint === undefined ? {} : { hint })}>
      <input
        id={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </Field>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly id: string;
  readonly value: T;
  readonly words: Readonly<Record<T, string>>;
  readonly onChange: (value: T) => void;
}

function Choice<T extends string>({ label, id, value, words, onChange }: ChoiceProps<T>): JSX.Element {
  return (
    <Field label={label} id={id}>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as T)}>
        {(Object.keys(words) as T[]).map((each) => (
          <option key={each} value={each}>
            {words[each]}
          </option>
        ))}
      </select>
    </Field>
  );
}
