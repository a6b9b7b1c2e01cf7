/** Names the type or the tenant that is paused or limited. What exists is offered, so that no name is misspelled. */
import type { JSX } from "preact";
import type { Schemas } from "../../api/client.ts";
import { useKnownTypes } from "../../api/types.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { Field } from "../../ui/Field.tsx";

export type Kind = "type" | "tenant" | "type_tenant" | "key";

interface KeyFieldProps {
  readonly id: string;
  readonly kind: Kind;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const labels: Readonly<Record<Kind, string>> = {
  type: "Type",
  tenant: "Id of the tenant",
  type_tenant: "Type and id of the tenant, as TYPE:TENANT",
  key: "Concurrency key",
};

export function KeyField(props: KeyFieldProps): JSX.Element {
  const { data } = useTenants();
  // Of more tenants than the list holds, one is named by its id.
  const isListed = data !== undefined && data.items.length > 0 && data.cursor === null;
  if (props.kind === "tenant" && isListed) return <TenantField {...props} tenants={data.items} />;
  return <TextField {...props} />;
}

interface TenantFieldProps extends KeyFieldProps {
  readonly tenants: readonly Schemas["TenantSettings"][];
}

function TenantField({ id, value, onChange, tenants }: TenantFieldProps): JSX.Element {
  return (
    <Field label="Tenant" id={id}>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">Choose one</option>
        {tenants.map((tenant) => (
          <option key={tenant.tenant_id} value={tenant.tenant_id}>
            {tenantName(tenant)}
          </option>
        ))}
      </select>
    </Field>
  );
}

function TextField({ id, kind, value, onChange }: KeyFieldProps): JSX.Element {
  const { data } = useKnownTypes(kind === "type");
  const known = kind === "type" ? (data?.items ?? []) : [];
  const isUnknown = known.length > 0 && value !== "" && !known.some(({ type }) => type === value);
  return (
    <Field
      label={labels[kind]}
      id={id}
      {...(isUnknown && {
        hint: "No job, worker or policy has this type now. It may be one that is still to come.",
      })}
    >
      <input
        id={id}
        list={`${id}-known`}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value.trim())}
      />
      <datalist id={`${id}-known`}>
        {known.map(({ type }) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </Field>
  );
}
