/** The keys of programs and people. A new key is shown once. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { CopyButton } from "../../ui/Copy.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { sayProblem } from "../../ui/Toasts.tsx";
import { useChange } from "../../ui/useChange.ts";

type Token = Schemas["Token"];
type Role = Token["role"];

const roles: Readonly<Record<Role, string>> = {
  jobforge_operator: "Operator: everything, all tenants",
  jobforge_reader: "Reader: numbers only",
  jobforge_worker: "Worker: runs jobs",
  jobforge_app: "Application: one tenant",
};

export function Keys(): JSX.Element {
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<Token>();
  const keys = useQuery({ queryKey: ["tokens"], queryFn: () => bodyOf(api.GET("/v1/tokens")) });
  return (
    <>
      <PageHead title="Keys">
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create a key
        </Button>
      </PageHead>
      <Load query={keys}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no key" />
          ) : (
            <KeyTable keys={items} onRevoke={setRevoking} />
          )
        }
      </Load>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      {revoking !== undefined && <Revoke token={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

function stateOf({ revoked_at, expires_at }: Token): "valid" | "revoked" | "expired" {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && Date.parse(expires_at) < Date.now() ? "expired" : "valid";
}

function KeyTable({
  keys,
  onRevoke,
}: {
  keys: readonly Token[];
  onRevoke: (token: Token) => void;
}): JSX.Element {
  const { data } = useTenants();
  const tenantOf = ({ tenant_id }: Token): string => {
    if (tenant_id === null) return "All";
    const known = data?.items.find((each) => each.tenant_id === tenant_id);
    return tenantName(known ?? { tenant_id });
  };
  return (
    <TableList
      caption="Keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", cell: ({ name }) => <strong>{name}</strong> },
        { title: "Begins with", kind: "short", cell: ({ prefix }) => <code>{prefix}</code> },
        { title: "Role", kind: "short", cell: ({ role }) => role.replace("jobforge_", "") },
        { title: "Tenant", cell: tenantOf },
        { title: "State", kind: "short", cell: stateOf },
        {
          title: "Last used",
          kind: "short",
          cell: ({ last_used_at }) => (last_used_at === null ? "never" : <Time at={last_used_at} />),
        },
        {
          title: "Expires",
          kind: "short",
          cell: ({ expires_at }) => (expires_at === null ? "never" : <Time at={expires_at} />),
        },
        {
          title: "Actions",
          kind: "actions",
          cell: (token) =>
            stateOf(token) === "valid" && (
              <Button icon="cancel" onClick={() => onRevoke(token)}>
                Revoke
              </Button>
            ),
        },
      ]}
    />
  );
}

function CreateKey({ onClose }: { onClose: () => void }): JSX.Element {
  const { data: tenants } = useTenants();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("jobforge_reader");
  const [tenant, setTenant] = useState("");
  const [made, setMade] = useState<string>();
  const change = useChange({
    run: async () => {
      const body = { name, role, ...(role === "jobforge_app" && tenant !== "" && { tenant_id: tenant }) };
      const { token } = await bodyOf(api.POST("/v1/tokens", { body }));
      setMade(token);
    },
    done: () => `Created the key ${name}`,
  });
  if (made !== undefined)
    return (
      <Dialog title={`The key ${name}`} onClose={onClose}>
        <p>Copy it now. No page shows it again.</p>
        <p>
          <code>{made}</code> <CopyButton text={made} what="the key" />
        </p>
      </Dialog>
    );
  return (
    <Dialog
      title="Create a key"
      onClose={onClose}
      onSubmit={() => (name.trim() === "" ? sayProblem(new Error("A key needs a name")) : change.mutate())}
      actions={
        <Button kind="primary" type="submit" busy={change.isPending}>
          Create the key
        </Button>
      }
    >
      <Field label="Name" id="key-name" hint="Who or what uses it. The audit log shows it.">
        <input id="key-name" value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <Field label="Role" id="key-role">
        <select
          id="key-role"
          value={role}
          onChange={({ currentTarget }) => setRole(currentTarget.value as Role)}
        >
          {Object.entries(roles).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      {role === "jobforge_app" && (
        <Field label="Tenant" id="key-tenant">
          <select
            id="key-tenant"
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
    </Dialog>
  );
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }): JSX.Element {
  const change = useChange({
    run: () => api.DELETE("/v1/tokens/{id}", { params: { path: { id: token.id } } }),
    done: () => `Revoked the key ${token.name}`,
    after: onClose,
  });
  return (
    <Dialog
      title={`Revoke the key ${token.name}?`}
      onClose={onClose}
      actions={
        <Button kind="danger" busy={change.isPending} onClick={() => change.mutate()}>
          Revoke {token.name}
        </Button>
      }
    >
      <p>Requests with this key are refused from now on. This cannot be undone.</p>
    </Dialog>
  );
}
