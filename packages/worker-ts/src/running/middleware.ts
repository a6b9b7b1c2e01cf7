/** Calls a handler through middleware: each job has its own onion, also when one call serves a batch of them. */
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import type { Middleware } from "../reporting/hooks.ts";
import type { Outcome } from "./ending.ts";

export interface Item {
  readonly input: unknown;
  readonly job: JobContext;
}

/** Calls the handler and answers what came of each item, in order. Never throws. */
export async function callHandler(handler: JobHandler, items: readonly Item[]): Promise<readonly Outcome[]> {
  try {
    const answers = await handler.run(items);
    if (answers.length !== items.length) {
      throw new Error(
        `The handler of ${handler.definition.type} got ${items.length} jobs and gave ${answers.length} results`,
      );
    }
    return answers.map((answer) => (answer instanceof Error ? { thrown: answer } : { value: answer }));
  } catch (thrown) {
    return items.map(() => ({ thrown }));
  }
}

/**
 * The same with middleware around each item. The handler is called once every item has either come through to it or was
 * answered on the way: so a middleware may answer or refuse one job of a batch and let the others go on.
 */
export async function callThrough(
  middleware: readonly Middleware[],
  handler: JobHandler,
  items: readonly Item[],
): Promise<readonly Outcome[]> {
  const arrived = new Map<Item, (outcome: Outcome) => void>();
  let onTheWay = items.length;
  const stepOff = async (): Promise<void> => {
    onTheWay -= 1;
    if (onTheWay > 0 || arrived.size === 0) return;
    const outcomes = await callHandler(handler, [...arrived.keys()]);
    [...arrived.values()].forEach((answer, place) => {
      answer(outcomes[place] ?? { thrown: new Error("The handler gave no result") });
    });
  };
  const pass = async (item: Item): Promise<Outcome> => {
    let isOut = false;
    let core: Promise<unknown> | undefined;
    const next = async (depth: number): Promise<unknown> => {
      const layer = middleware[depth];
      if (layer !== undefined) return await layer(item, () => next(depth + 1));
      if (isOut) throw new Error("next() came too late: the middleware had answered already");
      core ??= new Promise<Outcome>((resolve) => {
        arrived.set(item, resolve);
        void stepOff();
      }).then(unwrap);
      return await core;
    };
    const outcome = await settle(next(0));
    if (core === undefined) {
      isOut = true;
      void stepOff();
    }
    return outcome;
  };
  return await Promise.all(items.map(pass));
}

async function settle(answer: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await answer };
  } catch (thrown) {
    return { thrown };
  }
}

function unwrap(outcome: Outcome): unknown {
  if ("thrown" in outcome) throw outcome.thrown;
  return outcome.value;
}
