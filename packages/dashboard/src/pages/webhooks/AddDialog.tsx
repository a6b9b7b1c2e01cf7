/** Adds an endpoint: where events go, and which. */
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { useSeesTenants } from "../../api/session.ts";
import { createEndpoint, type NewEndpoint } from "../../api/webhooks.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { navigate, useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { useChange } from "../../ui/useChange.ts";

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

interface Texts {
  readonly url: string;
  readonly events: string;
  readonly jobTypes: string;
  readonly description: string;
}

const fields: readonly (readonly [keyof Texts, string, string])[] = [
  ["url", "URL", "Signed requests are sent there. Workers reach public addresses over https only."],
  [
    "events",
    "Events",
    "Such as job.dead, job.* or invoice.*, with commas between. Empty: the four ends of a job.",
  ],
  ["jobTypes", "Types of jobs", "Only events of jobs of these types, such as report.*. Empty: all."],
  ["description", "Description", "Whose system it is."],
];

export function AddDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const id = useId();
  const chosen = useTenant();
  const seesTenants = useSeesTenants();
  const [tenant, setTenant] = useState(chosen ?? "");
  const [texts, setTexts] = useState<Texts>({ url: "", events: "", jobTypes: "", description: "" });
  const add = useChange({
    run: async () => {
      const made = await createEndpoint(tenant === "" ? undefined : tenant, endpointOf(texts));
      onClose();
      navigate(`/webhooks/${made.id}`, { of: made.tenant_id });
    },
    done: () => "Added the endpoint. Its secret is shown on request",
  });
  const blocked =
    texts.url.trim() === ""
      ? "Write the URL"
      : seesTenants && tenant === ""
        ? "Choose the tenant"
        : undefined;
  return (
    <Dialog
      title="Add an endpoint"
      onClose={onClose}
      onSubmit={() => blocked === undefined && add.mutate()}
      actions={
        <Button type="submit" kind="primary" busy={add.isPending} blocked={blocked}>
          Add the endpoint
        </Button>
      }
    >
      {seesTenants && chosen === undefined && (
        <TenantField id={`${id}-tenant`} value={tenant} onChange={setTenant} />
      )}
      {fields.map(([name, label, hint]) => (
        <Field key={name} label={label} id={`${id}-${name}`} hint={hint}>
          <input
            id={`${id}-${name}`}
            type="text"
            inputMode={name === "url" ? "url" : "text"}
            autocomplete="off"
            spellcheck={false}
            value={texts[name]}
            onInput={({ currentTarget }) => setTexts({ ...texts, [name]: currentTarget.value })}
          />
        </Field>
      ))}
    </Dialog>
  );
}

function endpointOf({ url, events, jobTypes, description }: Texts): NewEndpoint {
  const [wanted, types] = [wordsOf(events), wordsOf(jobTypes)];
  return {
    url: url.trim(),
    ...(wanted.length > 0 && { events: wanted }),
    ...(types.length > 0 && { job_types: types }),
    ...(description.trim() !== "" && { description: description.trim() }),
  };
}

interface TenantFieldProps {
  readonly id: string;
  readonly value: string;
  readonly onChange: (tenant: string) => void;
}

function TenantField({ id, value, onChange }: TenantFieldProps): JSX.Element {
  const { data } = useTenants();
  return (
    <Field label="Tenant" id={id}>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">Choose one</option>
        {data?.items.map((each) => (
          <option key={each.tenant_id} value={each.tenant_id}>
            {tenantName(each)}
          </option>
        ))}
      </select>
    </Field>
  );
}
