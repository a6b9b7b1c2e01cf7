/** Enqueues a job of a type by hand, for example to see whether a repaired handler works. */
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { sendRaw, withPayload } from "../../api/raw.ts";
import { useSeesTenants } from "../../api/session.ts";
import { jsonError, parseExact, writeExact } from "../../lib/json.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { navigate, useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";

export function EnqueueJob({ type, onClose }: { type: string; onClose: () => void }): JSX.Element {
  const id = useId();
  const seesTenants = useSeesTenants();
  const { data: tenants } = useTenants();
  const [tenant, setTenant] = useState(useTenant() ?? "");
  const [payload, setPayload] = useState("{}");
  const problem = jsonError(payload);
  const enqueue = useChange({
    run: () => {
      const body = withPayload({ type }, writeExact(parseExact(payload)));
      return sendRaw<{ readonly id: string }>("POST", "/v1/jobs", tenant === "" ? undefined : tenant, body);
    },
    done: (_, made) => {
      navigate(`/jobs/${made.id}`, tenant === "" ? {} : { of: tenant });
      return "The job is queued";
    },
    after: onClose,
  });
  const blocked =
    seesTenants && tenant === ""
      ? "Choose a tenant"
      : problem === undefined
        ? undefined
        : "The payload is not JSON";
  return (
    <Dialog
      title={`Enqueue a job of ${type}`}
      onClose={onClose}
      onSubmit={() => blocked === undefined && enqueue.mutate()}
      actions={
        <Button type="submit" kind="primary" busy={enqueue.isPending} blocked={blocked}>
          Enqueue the job
        </Button>
      }
    >
      <p>It is a real job: a worker runs it as any other.</p>
      {seesTenants && (
        <Field label="Tenant" id={`${id}-tenant`}>
          <select
            id={`${id}-tenant`}
            value={tenant}
            onChange={({ currentTarget }) => setTenant(currentTarget.value)}
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
      <Field label="Payload" id={`${id}-payload`} problem={problem}>
        <textarea
          id={`${id}-payload`}
          rows={8}
          spellcheck={false}
          value={payload}
          onInput={({ currentTarget }) => setPayload(currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}
