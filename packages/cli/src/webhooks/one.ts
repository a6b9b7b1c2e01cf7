/** Parts shared by the commands for endpoints: the option for the tenant, an endpoint's id, and its state in words. */
import { type EndpointReference, globalTenant, type WebhookEndpoint } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { type CommonOptions, onDatabase } from "../command.ts";
import { UsageError } from "../failures.ts";
import type { Tone } from "../output/style.ts";
import { ago, readTenant } from "../output/values.ts";

export interface OfTenant extends CommonOptions {
  readonly tenant: string;
}

export function ofTenant(command: Command): Command {
  return onDatabase(command).option(
    "--tenant <id>",
    "the tenant of the endpoint, such as org_123 or a UUID; the nil UUID is the global tenant",
    readTenant,
    globalTenant,
  );
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isId(given: string): boolean {
  return uuid.test(given);
}

export function endpointOf(id: string, { tenant: tenantId }: OfTenant): EndpointReference {
  if (!isId(id)) throw new UsageError(`"${id}" is not a valid endpoint id. It is a UUID.`);
  return { tenantId, id };
}

/** The arguments that name an endpoint in a command. */
export function asArguments({ tenantId, id }: EndpointReference): string {
  return tenantId === globalTenant ? id : `${id} --tenant ${tenantId}`;
}

/** Held is not a state of its own: an endpoint that is enabled may be held for a while. */
export function stateOf({ state, heldUntil }: WebhookEndpoint): string {
  if (state === "enabled" && heldUntil !== undefined && heldUntil.getTime() > Date.now()) return "held";
  return state;
}

export function stateTone(endpoint: WebhookEndpoint): Tone {
  const tones: Readonly<Record<string, Tone>> = { enabled: "green", held: "yellow", disabled: "red" };
  return tones[stateOf(endpoint)] ?? "bold";
}

/** Describes what happens to the deliveries of an endpoint. */
export function inWords(endpoint: WebhookEndpoint): string {
  if (endpoint.state === "disabled") return "disabled; its deliveries wait.";
  if (stateOf(endpoint) === "held")
    return `enabled; its deliveries are held until ${ago(endpoint.heldUntil)}.`;
  return "enabled.";
}
