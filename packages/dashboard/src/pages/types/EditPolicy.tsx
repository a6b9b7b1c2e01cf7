/** Changes the retries of a type. The waits that follow are shown while the user types. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { duration } from "../../lib/format.ts";
import { ladderOf } from "../../lib/ladder.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";
import type { Policy } from "./Type.tsx";

interface EditPolicyProps {
  readonly type: string;
  readonly policy: Policy;
  readonly onClose: () => void;
}

const names = ["max_attempts", "base_ms", "factor", "cap_ms"] as const;
type Name = (typeof names)[number];

const labels: Readonly<Record<Name, string>> = {
  max_attempts: "Attempts",
  base_ms: "First wait in milliseconds",
  factor: "Each wait is longer by this factor",
  cap_ms: "Longest wait in milliseconds",
};

export function EditPolicy({ type, policy, onClose }: EditPolicyProps): JSX.Element {
  const [texts, setTexts] = useState<Readonly<Record<Name, string>>>({
    max_attempts: String(policy.max_attempts),
    base_ms: String(policy.base_ms),
    factor: String(policy.factor),
    cap_ms: policy.cap_ms === null ? "" : String(policy.cap_ms),
  });
  const values = {
    max_attempts: Number(texts.max_attempts),
    base_ms: Number(texts.base_ms),
    factor: Number(texts.factor),
    cap_ms: texts.cap_ms === "" ? null : Number(texts.cap_ms),
  };
  const isValid = Object.values(values).every((value) => value === null || Number.isFinite(value));
  const change = useChange({
    run: () => bodyOf(api.PATCH("/v1/types/{type}/policy", { params: { path: { type } }, body: values })),
    done: () => `Changed the policy of ${type}`,
    after: onClose,
  });
  return (
    <Dialog
      title={`The retries of ${type}`}
      onClose={onClose}
      onSubmit={() => change.mutate()}
      actions={
        <Button
          kind="primary"
          type="submit"
          busy={change.isPending}
          blocked={isValid ? undefined : "Each field needs a number"}
        >
          Change the policy
        </Button>
      }
    >
      {names.map((name) => (
        <Field key={name} label={labels[name]} id={`policy-${name}`}>
          <input
            id={`policy-${name}`}
            inputMode="decimal"
            value={texts[name]}
            onInput={({ currentTarget }) => setTexts({ ...texts, [name]: currentTarget.value })}
          />
        </Field>
      ))}
      <p>
        Waits:{" "}
        <output>
          {isValid
            ? ladderOf(values)
                .map((wait) => duration(wait))
                .join(", ")
            : "–"}
        </output>
      </p>
    </Dialog>
  );
}
