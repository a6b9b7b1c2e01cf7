/** Sets a limit: how many jobs of a kind run at once, or start per time. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useTenantNames } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";
import type { Limit } from "./Controls.tsx";
import { KeyField } from "./KeyField.tsx";

type Scope = "type" | "tenant" | "type_tenant" | "key";

const scopes: Readonly<Record<Scope, string>> = {
  type: "A type",
  tenant: "A tenant",
  type_tenant: "Each tenant's jobs of a type",
  key: "A concurrency key",
};

const fields = [
  ["max_running", "At once", "Empty: no such limit."],
  ["rate", "Starts per minute", "Empty: no such limit."],
  ["burst", "Burst", "How many may start at once after a quiet time."],
] as const;

type Texts = Readonly<Record<(typeof fields)[number][0], string>>;

const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));

interface LimitDialogProps {
  /** The limit to change. Default: a new one. */
  readonly limit?: Limit;
  /** What a new limit is about. Default: the user says it. */
  readonly about?: Pick<Limit, "scope" | "key">;
  readonly onClose: () => void;
}

const textOf = (value: number | null | undefined): string => (typeof value === "number" ? String(value) : "");

export function LimitDialog({ limit, about = limit, onClose }: LimitDialogProps): JSX.Element {
  const [scope, setScope] = useState<Scope>(about?.scope ?? "type");
  const [key, setKey] = useState(about?.key ?? "");
  const tenantOf = useTenantNames();
  const what = scope === "tenant" ? tenantOf(key) : key;
  const [texts, setTexts] = useState<Texts>({
    max_running: textOf(limit?.max_running),
    rate: textOf(limit?.rate),
    burst: textOf(limit?.burst),
  });
  const per = limit?.per ?? "1 minute";
  const rate = numberOf(texts.rate);
  const change = useChange({
    run: () => {
      const timed = rate === null ? {} : { rate, per, burst: numberOf(texts.burst) };
      const body = { scope, key, max_running: numberOf(texts.max_running), ...timed };
      return bodyOf(api.PUT("/v1/limits", { body: body as never }));
    },
    done: () => `Set the limit of ${what}`,
    after: onClose,
  });
  const isEmpty = texts.max_running === "" && texts.rate === "";
  const blocked = key === "" ? "Name what is limited" : isEmpty ? "Give one of the numbers" : undefined;
  return (
    <Dialog
      title={limit === undefined ? "Set a limit" : `Change the limit of ${what}`}
      onClose={onClose}
      onSubmit={() => change.mutate()}
      actions={
        <Button kind="primary" type="submit" busy={change.isPending} blocked={blocked}>
          Set the limit
        </Button>
      }
    >
      <Field label="What" id="limit-scope">
        <select
          id="limit-scope"
          value={scope}
          disabled={limit !== undefined}
          onChange={({ currentTarget }) => {
            setScope(currentTarget.value as Scope);
            setKey("");
          }}
        >
          {Object.entries(scopes).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      {limit === undefined && <KeyField id="limit-key" kind={scope} value={key} onChange={setKey} />}
      {fields.map(([name, label, hint]) => (
        <Field
          key={name}
          label={name === "rate" && limit?.per ? `Starts per ${limit.per}` : label}
          id={`limit-${name}`}
          hint={hint}
        >
          <input
            id={`limit-${name}`}
            inputMode="numeric"
            value={texts[name]}
            onInput={({ currentTarget }) => setTexts({ ...texts, [name]: currentTarget.value })}
          />
        </Field>
      ))}
    </Dialog>
  );
}
