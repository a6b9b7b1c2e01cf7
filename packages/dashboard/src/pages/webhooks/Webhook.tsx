/** One endpoint: what it gets, how that went, and what can be done about it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { apiBase } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import {
  type Endpoint,
  type EndpointName,
  enableEndpoint,
  testEndpoint,
  useEndpoint,
} from "../../api/webhooks.ts";
import { webhookCommands } from "../../lib/commands.ts";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs, copy } from "../../ui/Copy.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { Deliveries } from "./Deliveries.tsx";
import { DeleteDialog, DisableDialog, ReplayDialog, RotateDialog, SecretDialog } from "./dialogs.tsx";
import { EndpointState } from "./Webhooks.tsx";

export function Webhook({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const chosen = useTenant();
  const tenant = new URLSearchParams(useSearch()).get("of") ?? chosen;
  const name: EndpointName = { id: params["id"] ?? "", tenant };
  const endpoint = useEndpoint(name);
  return (
    <>
      <PageHead title={endpoint.data?.url ?? "Webhook"} note={endpoint.data?.description}>
        {endpoint.data && <Actions name={name} endpoint={endpoint.data} />}
      </PageHead>
      <Panel title="Endpoint">
        <Load query={endpoint} rows={3}>
          {(found) => <Facts facts={factsOf(found)} />}
        </Load>
      </Panel>
      {endpoint.data && <Deliveries name={name} />}
    </>
  );
}

function factsOf(endpoint: Endpoint): Parameters<typeof Facts>[0]["facts"] {
  const { events, job_types, tags, include, retry_schedule, keys } = endpoint;
  const listed = (words: readonly string[], none: string): string =>
    words.length === 0 ? none : words.join(", ");
  return [
    ["State", <EndpointState key="state" endpoint={endpoint} />],
    endpoint.disabled_at !== null && ["Disabled", <Time key="off" at={endpoint.disabled_at} />],
    endpoint.failing_since !== null && ["Failing since", <Time key="bad" at={endpoint.failing_since} />],
    endpoint.held_until !== null && ["Held back until", <Time key="held" at={endpoint.held_until} />],
    ["Events", listed(events, "the four ends of a job")],
    ["Of jobs of the types", listed(job_types, "all")],
    tags.length > 0 && ["Of jobs with the tags", listed(tags, "")],
    ["Events contain also", listed(include, "nothing")],
    ["Format", endpoint.format],
    ["Signature", endpoint.signature],
    ["Order", endpoint.ordered ? "one delivery at a time, in order" : "any"],
    ["Retries", retry_schedule === null ? "as the policy says" : `after ${retry_schedule.join(", ")} s`],
    ["Keys that sign", keys.map(({ version }) => `version ${version}`).join(", ")],
    ["Added", <Time key="added" at={endpoint.created_at} />],
    ["Changed", <Time key="changed" at={endpoint.updated_at} />],
  ];
}

type Opened = "secret" | "rotate" | "disable" | "delete" | "replay";

function Actions({ name, endpoint }: { name: EndpointName; endpoint: Endpoint }): JSX.Element {
  const may = useMay();
  const [opened, open] = useState<Opened>();
  const close = (): void => open(undefined);
  const isEnabled = endpoint.state === "enabled";
  const test = useChange({ run: () => testEndpoint(name), done: () => "Sent the event webhook.test" });
  const enable = useChange({
    run: () => enableEndpoint(name),
    done: () => "Enabled the endpoint. The deliveries that waited go out",
  });
  const button = (right: string, content: JSX.Element): JSX.Element | false => may(right) && content;
  return (
    <>
      {button(
        "test_webhook_endpoint",
        <Button
          icon="run"
          busy={test.isPending}
          blocked={isEnabled ? undefined : "A disabled endpoint gets nothing"}
          onClick={() => test.mutate()}
        >
          Send a test
        </Button>,
      )}
      {button(
        "replay_webhook_deliveries",
        <Button icon="refresh" onClick={() => open("replay")}>
          Deliver again
        </Button>,
      )}
      {button(
        "list_webhook_endpoints",
        <Button icon="keys" onClick={() => open("secret")}>
          Show the secret
        </Button>,
      )}
      {button("rotate_webhook_endpoint", <Button onClick={() => open("rotate")}>Rotate</Button>)}
      {isEnabled
        ? button("disable_webhook_endpoint", <Button onClick={() => open("disable")}>Disable</Button>)
        : button(
            "enable_webhook_endpoint",
            <Button kind="primary" busy={enable.isPending} onClick={() => enable.mutate()}>
              Enable
            </Button>,
          )}
      {button(
        "delete_webhook_endpoint",
        <Button icon="trash" label="Delete the endpoint" title="Delete" onClick={() => open("delete")} />,
      )}
      <CopyAs
        commands={webhookCommands(endpoint.id, endpoint.tenant_id, apiBase)}
        more={[["The link to this page", () => void copy(location.href, "the link")]]}
      />
      {opened === "secret" && <SecretDialog name={name} onClose={close} />}
      {opened === "rotate" && <RotateDialog name={name} onClose={close} />}
      {opened === "disable" && <DisableDialog name={name} onClose={close} />}
      {opened === "replay" && <ReplayDialog name={name} onClose={close} />}
      {opened === "delete" && <DeleteDialog name={name} url={endpoint.url} onClose={close} />}
    </>
  );
}
