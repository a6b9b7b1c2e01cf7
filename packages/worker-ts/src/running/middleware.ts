/**
 * Calls a handler through middleware. Each job passes all layers by itself, even when one call serves a batch of jobs.
 */
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import { noOutcome, type Outcome } from "./ending.ts";

/** Wraps every handler. `next()` goes on, and returns what the handler returned or throws what it threw. */
export type Middleware = (
  run: { readonly input: unknown; readonly job: JobContext },
  next: () => Promise<unknown>,
) => Promise<unknown>;

export interface Item {
  readonly input: unknown;
  readonly job: JobContext;
}

/** Calls the handler and returns the outcome of each item, in order. Never throws. */
export async function callHandler(handler: JobHandler, items: readonly Item[]): Promise<readonly Outcome[]> {
  try {
    const results = await handler.run(items);
    if (results.length !== items.length) {
      throw new Error(
        `The handler of ${handler.definition.type} got ${items.length} jobs and returned ${results.length} results`,
      );
    }
    return results.map((result) => (result instanceof Error ? { thrown: result } : { value: result }));
  } catch (thrown) {
    return items.map(() => ({ thrown }));
  }
}

/**
 * The same with middleware around each item. The handler is called when every item has either reached it or was
 * decided by a middleware. So a middleware may decide or refuse one job of a batch and let the others pass.
 */
export async function callThrough(
  middleware: readonly Middleware[],
  handler: JobHandler,
  items: readonly Item[],
): Promise<readonly Outcome[]> {
  const arrived = new Map<Item, (outcome: Outcome) => void>();
  let undecided = items.length;
  const decideOne = async (): Promise<void> => {
    undecided -= 1;
    if (undecided > 0 || arrived.size === 0) return;
    const outcomes = await callHandler(handler, [...arrived.keys()]);
    [...arrived.values()].forEach((resolve, place) => {
      resolve(outcomes[place] ?? noOutcome());
    });
  };
  const pass = async (item: Item): Promise<Outcome> => {
    let isDecided = false;
    let core: Promise<unknown> | undefined;
    const next = async (depth: number): Promise<unknown> => {
      const layer = middleware[depth];
      if (layer !== undefined) return await layer(item, () => next(depth + 1));
      if (isDecided) throw new Error("next() was called too late: the middleware had already returned");
      core ??= new Promise<Outcome>((resolve) => {
        arrived.set(item, resolve);
        void decideOne();
      }).then(unwrap);
      return await core;
    };
    const outcome = await outcomeOf(next(0));
    if (core === undefined) {
      isDecided = true;
      void decideOne();
    }
    return outcome;
  };
  return await Promise.all(items.map(pass));
}

async function outcomeOf(result: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await result };
  } catch (thrown) {
    return { thrown };
  }
}

function unwrap(outcome: Outcome): unknown {
  if ("thrown" in outcome) throw outcome.thrown;
  return outcome.value;
}
