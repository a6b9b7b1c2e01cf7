/** All kinds of faults. */
import type { FaultKind } from "./fault.ts";
import { handOffKilled, handOffOpen, handOffRestarted, handOffUnheard } from "./hand-offs.ts";
import { connectionsCut, networkForgot, networkSlow, networkStalled, notificationsLost } from "./network.ts";
import { gatesFlapping, rollingUpgrade } from "./operations.ts";
import {
  connectionsExhausted,
  listenersTerminated,
  postgresCrashed,
  postgresRestarted,
  serializationFailures,
  sessionsTerminated,
  xminPinned,
} from "./postgres.ts";
import { clockJumped, workerKilled, workerReplaced, workerStopped } from "./workers.ts";

export const faultKinds: readonly FaultKind[] = [
  workerKilled,
  workerStopped,
  workerReplaced,
  clockJumped,
  postgresRestarted,
  postgresCrashed,
  sessionsTerminated,
  listenersTerminated,
  connectionsExhausted,
  xminPinned,
  serializationFailures,
  connectionsCut,
  networkStalled,
  networkSlow,
  networkForgot,
  notificationsLost,
  gatesFlapping,
  rollingUpgrade,
  handOffUnheard,
  handOffKilled,
  handOffOpen,
  handOffRestarted,
];

/** The faults of a run that names none. */
export function usualFaults(isPlain: boolean): FaultKind[] {
  return faultKinds.filter((kind) => isPlain || kind.isPlain !== true);
}

/** Returns the kinds with these names, in the order of the list above. Throws an error for an unknown name. */
export function faultsNamed(names: readonly string[]): FaultKind[] {
  const unknown = names.filter((name) => !faultKinds.some((kind) => kind.name === name));
  if (unknown.length > 0) {
    const known = faultKinds.map(({ name }) => name).join(", ");
    throw new RangeError(`Unknown faults: ${unknown.join(", ")}. Known: ${known}`);
  }
  return faultKinds.filter(({ name }) => names.includes(name));
}
