/** Sets a limit: how many jobs of a kind run at once, or start per time. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";

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

export function LimitDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const [scope, setScope] = useState<Scope>("type");
  const [key, setKey] = useState("");
  const [texts, setTexts] = useState<Texts>({ max_running: "", rate: "", burst: "" });
  const rate = numberOf(texts.rate);
  const change = useChange({
    run: () => {
      const timed = rate === null ? {} : { rate, per: "1 minute", burst: numberOf(texts.burst) };
      const body = { scope, key, max_running: numberOf(texts.max_running), ...timed };
      return bodyOf(api.PUT("/v1/limits", { body: body as never }));
    },
    done: () => `Set the limit of ${key}`,
    after: onClose,
  });
  const isEmpty = texts.max_running === "" && texts.rate === "";
  const blocked = key === "" ? "Name what is limited" : isEmpty ? "Give one of the numbers" : undefined;
  return (
    <Dialog
      title="Set a limit"
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
          onChange={({ currentTarget }) => setScope(currentTarget.value as Scope)}
        >
          {Object.entries(scopes).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Name or id" id="limit-key">
        <input
          id="limit-key"
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value.trim())}
        />
      </Field>
      {fields.map(([name, label, hint]) => (
        <Field key={name} label={label} id={`limit-${name}`} hint={hint}>
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
