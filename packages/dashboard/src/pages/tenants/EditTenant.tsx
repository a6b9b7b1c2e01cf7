/** Changes the label, the weight and the quota of a tenant. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";
import type { Tenant } from "./Tenants.tsx";

export function EditTenant({ tenant, onClose }: { tenant: Tenant; onClose: () => void }): JSX.Element {
  const [label, setLabel] = useState(tenant.label ?? "");
  const [weight, setWeight] = useState(String(tenant.weight));
  const [pending, setPending] = useState(tenant.max_pending === null ? "" : String(tenant.max_pending));
  const change = useChange({
    run: () =>
      bodyOf(
        api.PATCH("/v1/tenants/{tenant_id}", {
          params: { path: { tenant_id: tenant.tenant_id } },
          body: {
            label: label === "" ? null : label,
            weight: Number(weight),
            max_pending: pending === "" ? null : Number(pending),
          },
        }),
      ),
    done: () => `Changed ${label || tenant.tenant_id}`,
    after: onClose,
  });
  return (
    <Dialog
      title={`Tenant ${tenant.label ?? tenant.tenant_id}`}
      onClose={onClose}
      onSubmit={() => change.mutate()}
      actions={
        <Button kind="primary" type="submit" busy={change.isPending}>
          Change the tenant
        </Button>
      }
    >
      <p>
        <code>{tenant.tenant_id}</code>
      </p>
      <Field label="Label" id="tenant-label" hint="The name that people read.">
        <input
          id="tenant-label"
          value={label}
          onInput={({ currentTarget }) => setLabel(currentTarget.value)}
        />
      </Field>
      <Field label="Weight" id="tenant-weight" hint="Its share of starts while several tenants wait.">
        <input
          id="tenant-weight"
          inputMode="numeric"
          value={weight}
          onInput={({ currentTarget }) => setWeight(currentTarget.value)}
        />
      </Field>
      <Field label="Most waiting jobs" id="tenant-pending" hint="Empty: no quota.">
        <input
          id="tenant-pending"
          inputMode="numeric"
          value={pending}
          onInput={({ currentTarget }) => setPending(currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}
