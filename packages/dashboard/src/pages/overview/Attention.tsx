/** What needs attention now, in the words of the kernel, the worst first. Each line leads to its page. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { resume } from "../../api/gates.ts";
import { useMay } from "../../api/session.ts";
import { plural } from "../../lib/format.ts";
import { pagesFor } from "../../shell/pages.ts";
import { useTenantNames } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Icon, type IconName } from "../../ui/Icon.tsx";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Lasting, Words } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { BulkDialog } from "../jobs/BulkDialog.tsx";
import css from "./Overview.module.css";

type Note = Schemas["Attention"];
type Target = Note["target"];

/** The pages about each kind of thing, the best first. Not every caller may see each of them. */
const pagesOf: Readonly<Record<Target, readonly string[]>> = {
  gate: ["/controls"],
  type: ["/types", "/jobs"],
  schedules: ["/schedules"],
  dead: ["/dead", "/types"],
  webhooks: ["/webhooks"],
  tenant: ["/tenants"],
  workers: ["/workers"],
  maintenance: [],
};

const icons: Readonly<Record<Target, IconName>> = {
  gate: "pause",
  type: "types",
  schedules: "schedules",
  dead: "dead",
  webhooks: "webhooks",
  tenant: "tenants",
  workers: "workers",
  maintenance: "settings",
};

const keyOf = ({ kind, type, tenant_id, key }: Note): string => [kind, type, tenant_id, key].join(" ");

export function Attention(): JSX.Element {
  const tenant = useTenant();
  const attention = useQuery({
    queryKey: ["attention", tenant ?? null],
    queryFn: () =>
      bodyOf(
        api.GET("/v1/attention", { params: { query: tenant === undefined ? {} : { tenant_id: tenant } } }),
      ),
    meta: { live: true },
  });
  const notes = attention.data?.items;
  const isBad = notes?.some(({ severity }) => severity === "error") ?? false;
  const tone = notes === undefined ? "plain" : isBad ? "bad" : notes.length > 0 ? "warn" : "good";
  return (
    <Panel
      title="Needs attention"
      note={notes && notes.length > 0 ? plural(notes.length, "thing") : undefined}
      tone={tone}
      flush={notes !== undefined && notes.length > 0}
    >
      <Load query={attention} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <p>Nothing. No work stands still, and nothing fails more than usual.</p>
          ) : (
            <ul class={css["notes"]}>
              {items.map((note) => (
                <li key={keyOf(note)} data-tone={note.severity === "error" ? "bad" : "warn"}>
                  <Icon name={icons[note.target]} />
                  <p>
                    <Sentence note={note} />{" "}
                    {note.since !== null && (
                      <small>
                        <Lasting at={note.since} />
                      </small>
                    )}
                  </p>
                  {note.target === "gate" && <Resume note={note} />}
                  {note.target === "dead" && note.type !== null && <RunAgain note={note} type={note.type} />}
                </li>
              ))}
            </ul>
          )
        }
      </Load>
    </Panel>
  );
}

function Sentence({ note }: { note: Note }): JSX.Element {
  const seen = pagesFor(useMay()).map(({ path }) => path);
  const page = pagesOf[note.target].find((path) => seen.includes(path));
  if (page === undefined) return <Words text={note.message} />;
  const { type, tenant_id } = note;
  // A page of one type needs no filter; a list of jobs does.
  const path = page === "/types" && type !== null ? `${page}/${encodeURIComponent(type)}` : page;
  const params = {
    ...(page === "/jobs" && type !== null && { type, status: "queued" }),
    ...(tenant_id !== null && { tenant: tenant_id }),
  };
  return (
    <Link to={path} params={params}>
      <Words text={note.message} />
    </Link>
  );
}

function Resume({ note: { type, tenant_id } }: { note: Note }): JSX.Element | null {
  const may = useMay();
  const scope = type !== null ? "type" : tenant_id !== null ? "tenant" : "all";
  const key = type ?? tenant_id;
  const tenantOf = useTenantNames();
  const name = key === null ? "everything" : `the ${scope} ${scope === "tenant" ? tenantOf(key) : key}`;
  const resuming = useChange({
    run: () => resume({ scope, key }),
    done: () => `Resumed ${name}`,
  });
  if (!may("set_gate")) return null;
  return (
    <Button icon="run" label={`Resume ${name}`} busy={resuming.isPending} onClick={() => resuming.mutate()}>
      Resume
    </Button>
  );
}

/** The jobs of the type that failed since the trouble began. The dialog counts them first. */
function RunAgain({ note, type }: { note: Note; type: string }): JSX.Element | null {
  const may = useMay();
  const [isAsking, setAsking] = useState(false);
  if (!may("reschedule_jobs")) return null;
  const since = note.since === null ? {} : { finished_after: note.since };
  return (
    <>
      <Button icon="run" label={`Run the failed jobs of ${type} again`} onClick={() => setAsking(true)}>
        Run again
      </Button>
      {isAsking && (
        <BulkDialog
          change="reschedule"
          filter={{ status: ["failed", "dead"], type: [type], ...since }}
          tenant={note.tenant_id ?? undefined}
          onClose={() => setAsking(false)}
          onDone={() => setAsking(false)}
        />
      )}
    </>
  );
}
