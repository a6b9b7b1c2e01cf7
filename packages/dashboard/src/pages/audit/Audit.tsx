/** Who changed what, newest first. */
import { useInfiniteQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { auditCommands } from "../../lib/commands.ts";
import { shortId } from "../../lib/format.ts";
import { pagesFor } from "../../shell/pages.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { navigate, type Params, useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Field } from "../../ui/Field.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, ProblemNote, Skeleton } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time, Words } from "../../ui/Time.tsx";

import css from "./Audit.module.css";

type Entry = Schemas["AuditEntry"];

const filters = [
  {
    name: "action",
    label: "Action",
    hint: "The exact name, such as GATE_PAUSED",
    placeholder: "All actions",
  },
  { name: "actor", label: "By", hint: "The exact name of a person or key", placeholder: "Everyone" },
  { name: "entity", label: "On", hint: "The id of a job, a type, a change", placeholder: "Everything" },
] as const;
type FilterName = (typeof filters)[number]["name"];

/** The filters are the address, so that a link shows the same entries. */
const show = (given: Params): void => navigate("/audit", given);

/** The parameters of the request. */
function queryOf(given: Readonly<Record<FilterName, string>>, tenant: string | undefined) {
  const { action, actor, entity } = given;
  return {
    ...(tenant !== undefined && { tenant_id: tenant }),
    ...(action !== "" && { action }),
    ...(actor !== "" && { actor }),
    ...(entity !== "" && { entity_id: entity }),
  };
}

export function Audit(): JSX.Element {
  const tenant = useTenant();
  const params = new URLSearchParams(useSearch());
  const textOf = (name: FilterName): string => params.get(name) ?? "";
  const given = { action: textOf("action"), actor: textOf("actor"), entity: textOf("entity") };
  const asked = queryOf(given, tenant);
  const list = useInfiniteQuery({
    queryKey: ["audit", asked],
    queryFn: ({ pageParam }) => {
      const query = { limit: 50, ...asked, ...(pageParam && { cursor: pageParam }) };
      return bodyOf(api.GET("/v1/audit", { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    placeholderData: (before) => before,
  });
  const entries = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      <PageHead title="Audit" note="Who changed what, newest first">
        <CopyAs commands={auditCommands(asked, apiBase)} />
      </PageHead>
      <div class="filters">
        {filters.map((filter) => (
          <FilterField
            key={filter.name}
            {...filter}
            value={given[filter.name]}
            onChange={(text) => show({ ...given, [filter.name]: text })}
          />
        ))}
      </div>
      {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined && list.error === null && <Skeleton />}
      {list.data !== undefined && entries.length === 0 && <Empty title="There is no entry" />}
      {entries.length > 0 && <Entries entries={entries} />}
      {list.hasNextPage && (
        <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Load more
        </Button>
      )}
    </>
  );
}

type FilterFieldProps = (typeof filters)[number] & {
  readonly value: string;
  readonly onChange: (text: string) => void;
};

/** What is being typed stays when the list is read again, and applies with Enter or when the field is left. */
function FilterField({ name, label, hint, placeholder, value, onChange }: FilterFieldProps): JSX.Element {
  const [typed, setTyped] = useState<string>();
  const apply = (): void => {
    const text = (typed ?? value).trim();
    setTyped(undefined);
    if (text !== value) onChange(name === "action" ? text.toUpperCase() : text);
  };
  return (
    <Field label={label} id={`audit-${name}`} hint={hint}>
      <input
        id={`audit-${name}`}
        type="search"
        placeholder={placeholder}
        value={typed ?? value}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={apply}
        onKeyDown={({ key }) => key === "Enter" && apply()}
      />
    </Field>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <TableList
      caption="Entries of the audit log"
      rows={entries}
      keyOf={({ id }) => String(id)}
      columns={[
        { title: "Action", kind: "short", cell: ({ action }) => <code class={css["action"]}>{action}</code> },
        { title: "On", kind: "short", cell: (entry) => <Target entry={entry} /> },
        seesTenants && {
          title: "Tenant",
          kind: "short",
          cell: ({ tenant_id, tenant_label }) => tenantName({ tenant_id, label: tenant_label }),
        },
        { title: "By", cell: ({ actor }) => actor },
        { title: "What", cell: (entry) => <What entry={entry} earlier={earlierOf(entry, entries)} /> },
        { title: "When", kind: "short", cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}

/** The pages of the things that entries are about, by the kind of thing. */
const pages: Readonly<Record<string, string>> = {
  job: "/jobs",
  workflow: "/workflows",
  webhook_endpoint: "/webhooks",
  type: "/types",
  worker: "/workers",
  tenant: "/tenants",
  gate: "/controls",
  limit: "/controls",
  token: "/keys",
};
/** These have one page together. */
const together = ["gate", "limit", "token"];

/** A link to the thing, if the caller may see its page. */
function Target({ entry }: { entry: Entry }): JSX.Element {
  const { entity_type, entity_id, tenant_id } = entry;
  const seen = pagesFor(useMay()).map(({ path }) => path);
  const path = pages[entity_type];
  const name = `${entity_type.replaceAll("_", " ")} ${isUuid.test(entity_id) ? shortId(entity_id) : entity_id}`;
  const schedule = scheduleOf(entry);
  if (schedule !== undefined && seen.includes("/schedules"))
    return (
      <Link to={schedule.path} params={{ of: entry.tenant_id }} title={entity_id}>
        schedule {schedule.name}
      </Link>
    );
  if (path === undefined || !seen.includes(path)) return <span title={entity_id}>{name}</span>;
  const isOfTenant = ["job", "workflow", "webhook_endpoint"].includes(entity_type);
  return (
    <Link
      to={together.includes(entity_type) ? path : `${path}/${encodeURIComponent(entity_id)}`}
      params={isOfTenant ? { of: tenant_id } : {}}
      title={entity_id}
    >
      {name}
    </Link>
  );
}

/** A schedule is known by its type and key, which its entries have. */
function scheduleOf({
  entity_type,
  meta,
}: Entry): { readonly path: string; readonly name: string } | undefined {
  const { type, key } = (meta ?? {}) as { readonly type?: unknown; readonly key?: unknown };
  if (entity_type !== "schedule" || typeof type !== "string" || typeof key !== "string") return undefined;
  return {
    path: `/schedules/${encodeURIComponent(type)}/${encodeURIComponent(key)}`,
    name: `${type} · ${key}`,
  };
}

const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The last entry before about the same thing, if the list has it. It says what a setting was. */
function earlierOf(entry: Entry, entries: readonly Entry[]): Entry | undefined {
  const at = entries.indexOf(entry);
  return entries.find(
    ({ action, entity_type, entity_id }, index) =>
      index > at &&
      action === entry.action &&
      entity_type === entry.entity_type &&
      entity_id === entry.entity_id,
  );
}

/** The message, and what was set: each value, and the one before where it is known. */
function What({ entry, earlier }: { entry: Entry; earlier: Entry | undefined }): JSX.Element {
  const { message, meta } = entry;
  const values = entriesOf(meta);
  const before = new Map(entriesOf(earlier?.meta));
  return (
    <>
      {message !== null && <span>{message}</span>}
      {values.length > 0 && (
        <ul class={css["values"]}>
          {values.map(([name, value]) => (
            <li key={name}>
              {name}{" "}
              <b>
                <Words text={value} />
              </b>
              {before.has(name) && before.get(name) !== value && <del>{before.get(name)}</del>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

const mostShown = 12;

function entriesOf(meta: unknown): (readonly [string, string])[] {
  if (typeof meta !== "object" || meta === null) return [];
  return Object.entries(meta)
    .slice(0, mostShown)
    .map(([name, value]) => [name.replaceAll("_", " "), wordsOf(value)] as const);
}
