/** What is decided about an endpoint: its secret, its state, its end, and which deliveries go out again. */
import { useMutation } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import {
  type DeliveryFilters,
  deleteEndpoint,
  disableEndpoint,
  type EndpointName,
  mostReplayed,
  replayDeliveries,
  rotateEndpoint,
  secretsOf,
} from "../../api/webhooks.ts";
import { count, plural } from "../../lib/format.ts";
import { navigate } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyButton } from "../../ui/Copy.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Field } from "../../ui/Field.tsx";
import { ProblemNote, Skeleton } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";

interface DialogProps {
  readonly name: EndpointName;
  readonly onClose: () => void;
}

export function SecretDialog({ name, onClose }: DialogProps): JSX.Element {
  // A mutation, so that no cache keeps the secret after the dialog has closed.
  const secrets = useMutation({ mutationFn: () => secretsOf(name), gcTime: 0 });
  useEffect(() => secrets.mutate(), []);
  return (
    <Dialog title="Secret of the endpoint" wide onClose={onClose}>
      <p>The receiver verifies signatures with it. Who knows it can make requests that look like yours.</p>
      {secrets.error !== null && <ProblemNote error={secrets.error} />}
      {secrets.data === undefined && secrets.error === null && <Skeleton rows={1} />}
      {secrets.data?.map(({ version, secret, until }) => (
        <p key={version}>
          <code>{secret}</code> <CopyButton text={secret} what={`the secret of version ${version}`} />
          {until !== undefined && (
            <>
              <br />
              The one before. It signs until <Time at={until} />
            </>
          )}
        </p>
      ))}
    </Dialog>
  );
}

const keeps: readonly (readonly [string, string])[] = [
  ["24 hours", "For 24 hours"],
  ["1 hour", "For an hour"],
  ["7 days", "For 7 days"],
  ["0 seconds", "Not at all: the secret leaked"],
];

export function RotateDialog({ name, onClose }: DialogProps): JSX.Element {
  const id = useId();
  const [keep, setKeep] = useState("24 hours");
  const rotate = useChange({
    run: () => rotateEndpoint(name, keep),
    done: () => "The endpoint has a new secret. Give it to the receiver",
    after: onClose,
  });
  return (
    <Dialog
      title="Rotate the secret"
      onClose={onClose}
      onSubmit={() => rotate.mutate()}
      actions={
        <Button type="submit" kind="primary" busy={rotate.isPending}>
          Rotate the secret
        </Button>
      }
    >
      <p>From now on, a new key signs. While the one before signs as well, both secrets verify.</p>
      <Field label="The key before signs as well" id={id}>
        <select id={id} value={keep} onChange={({ currentTarget }) => setKeep(currentTarget.value)}>
          {keeps.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
    </Dialog>
  );
}

export function DisableDialog({ name, onClose }: DialogProps): JSX.Element {
  const id = useId();
  const [reason, setReason] = useState("");
  const disable = useChange({
    run: () => disableEndpoint(name, reason.trim()),
    done: () => "Disabled the endpoint. Its deliveries wait",
    after: onClose,
  });
  return (
    <Dialog
      title="Disable the endpoint"
      onClose={onClose}
      onSubmit={() => disable.mutate()}
      actions={
        <Button type="submit" kind="primary" busy={disable.isPending}>
          Disable the endpoint
        </Button>
      }
    >
      <p>Events are still recorded. Their deliveries wait for up to seven days, until it is enabled again.</p>
      <Field label="Reason" id={id} hint="Shown with the endpoint, and kept in the audit log.">
        <input
          id={id}
          type="text"
          maxLength={1024}
          autocomplete="off"
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}

export function DeleteDialog({ name, url, onClose }: DialogProps & { readonly url: string }): JSX.Element {
  const remove = useChange({
    run: () => deleteEndpoint(name),
    done: () => "Deleted the endpoint",
    after: () => navigate("/webhooks"),
  });
  return (
    <Dialog
      title="Delete the endpoint?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
            Delete the endpoint
          </Button>
        </>
      }
    >
      <p>
        <code>{url}</code> gets nothing more, and its queued deliveries are canceled. This cannot be undone.
      </p>
    </Dialog>
  );
}

const selections: Readonly<
  Record<string, { label: string; status: NonNullable<DeliveryFilters["status"]> }>
> = {
  bad: { label: "What failed or is dead", status: ["failed", "dead"] },
  all: { label: "Everything that ended", status: ["succeeded", "failed", "dead", "canceled"] },
  succeeded: { label: "What succeeded", status: ["succeeded"] },
};

export function ReplayDialog({ name, onClose }: DialogProps): JSX.Element {
  const id = useId();
  const [selected, select] = useState("bad");
  const [event, setEvent] = useState("");
  const [from, setFrom] = useState("");
  const replay = useChange({
    run: () =>
      replayDeliveries(name, {
        status: selections[selected]?.status ?? "dead",
        ...(event.trim() !== "" && { tags: event.trim() }),
        ...(from !== "" && { created_after: new Date(from).toISOString() }),
      }),
    done: (_, { matched, replayed }) =>
      `Of ${plural(matched, "delivery that matches", "deliveries that match")}, ${count(replayed)} go out again`,
    after: onClose,
  });
  return (
    <Dialog
      title="Deliver again"
      onClose={onClose}
      onSubmit={() => replay.mutate()}
      actions={
        <Button type="submit" kind="primary" busy={replay.isPending}>
          Deliver again
        </Button>
      }
    >
      <p>
        Receivers get the same <code>webhook-id</code> with a new time. Up to {count(mostReplayed)} go out at
        once, and the limits of the endpoint apply.
      </p>
      <Field label="Deliveries" id={`${id}-what`}>
        <select
          id={`${id}-what`}
          value={selected}
          onChange={({ currentTarget }) => select(currentTarget.value)}
        >
          {Object.entries(selections).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Type of event" id={`${id}-event`} hint="Such as job.dead. Empty: all.">
        <input
          id={`${id}-event`}
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={event}
          onInput={({ currentTarget }) => setEvent(currentTarget.value)}
        />
      </Field>
      <Field label="Created after" id={`${id}-from`} hint="In your time zone. Empty: since the beginning.">
        <input
          id={`${id}-from`}
          type="datetime-local"
          value={from}
          onInput={({ currentTarget }) => setFrom(currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}
