/** A client's transport that reports every call of a function. It changes nothing else. */
import type { JobForge, Transport } from "@jobforge/sdk-ts";
import { Happening } from "./happening.ts";

export interface ObservedForge {
  readonly transport: Transport;
}

export function observed(forge: JobForge, onCall: (name: string) => void): ObservedForge {
  const { transport } = forge;
  return {
    transport: {
      ...transport,
      call: (name, args, options) => {
        onCall(name);
        return transport.call(name, args, options);
      },
    },
  };
}

/** The same, with the time of every call that settles and claims. */
export function observedClaims(forge: JobForge): {
  readonly forge: ObservedForge;
  readonly claims: Happening<number>;
} {
  const claims = new Happening<number>();
  const isClaim = (name: string): boolean => name === "jobforge_settle_jobs_text";
  return { claims, forge: observed(forge, (name) => isClaim(name) && claims.now(performance.now())) };
}
