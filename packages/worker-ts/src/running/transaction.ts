/** `job.transaction()`: the end of a run is committed together with what its handler writes. */
import { JobNotHeldError, type Transport } from "@jobforge/sdk-ts";
import type { DatabaseParts } from "../backend.ts";
import type { SettleResponse } from "../claiming/protocol.ts";
import { isNotHeld, RunOver } from "../errors.ts";
import type { ContextServices } from "./context.ts";
import { concludeSuccess, endRun } from "./ending.ts";
import { offloadResult } from "./offloading.ts";
import type { Run, Verdict } from "./run.ts";

export async function endInTransaction<T>(
  run: Run,
  database: DatabaseParts,
  services: ContextServices,
  work: (client: unknown) => Promise<T>,
): Promise<T> {
  const { transport, connections } = database;
  const ending = { hasBegun: false };
  try {
    const { result, response } = await connections.run(
      () => run.signal,
      () => {
        if (transport.transaction === undefined) {
          throw new Error("transaction() needs a worker that is connected to Postgres itself, not over HTTP");
        }
        return transport.transaction(async (client, inside) => {
          // The run may have ended while it waited for a connection.
          requireOpen(run);
          const result = await work(client);
          const end = await offloadResult(run, await concludeSuccess(run, result), services);
          return { result, response: await settleInside(database, inside, run, end, ending) };
        });
      },
    );
    services.settled(run, response);
    return result;
  } catch (error) {
    // The transaction was rolled back, or its fate is unknown. The run goes on, and if its end was committed after
    // all, the database says so when the run is settled.
    if (ending.hasBegun) run.continueRunning();
    if (isNotHeld(error)) services.lost(run);
    throw error;
  }
}

/** Throws unless the run succeeds, so that what the handler has written is rolled back. */
async function settleInside(
  database: DatabaseParts,
  inside: Transport,
  run: Run,
  end: Verdict,
  ending: { hasBegun: boolean },
): Promise<SettleResponse> {
  requireOpen(run);
  if (end.status !== "succeeded") return leave(run, end);
  endRun(run, end);
  if (run.end?.status !== "succeeded") return leave(run, run.end ?? end);
  // From now on, heartbeats may report that this worker no longer holds the run.
  run.beginEnding();
  ending.hasBegun = true;
  const response = await database.settleIn(inside, run.endJson);
  requireUnended(run);
  const [reply] = response.settled;
  if (reply?.outcome !== "ok") throw new JobNotHeldError();
  if (reply.status !== "succeeded" && reply.status !== "canceled") {
    throw new Error(`The result of transaction() was refused: the job would be ${reply.status}`);
  }
  return response;
}

/** Ends the handler, and the run with this verdict. */
export function leave(run: Run, verdict: Verdict): never {
  run.verdict = verdict;
  throw new RunOver(`The run has ended: ${verdict.error?.message ?? verdict.status}`);
}

export function requireRunning(run: Run, method: string): void {
  if (run.state !== "running") throw new Error(`${method} was called too late: this run has ended`);
}

/** Throws when the run can no longer succeed. */
function requireOpen(run: Run): void {
  requireUnended(run);
  requireRunning(run, "transaction()");
}

/** A run that timed out has failed, and a run that lost its lease may belong to another worker: neither may succeed. */
function requireUnended({ aborted }: Run): void {
  if (aborted?.kind === "timeout" || aborted?.kind === "lost") throw aborted;
}
