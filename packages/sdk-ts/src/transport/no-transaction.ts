/** The error of a call that would run outside of the caller's transaction. */
import { InvalidArgumentError } from "../errors.ts";

export function noTransaction(): InvalidArgumentError {
  return new InvalidArgumentError("forge.with() was called outside of a transaction, or after its end", {
    code: "25P01",
    kind: "no_transaction",
    field: "tx",
    hint:
      "Begin the transaction first, and await each call before the transaction ends. To call without a transaction, " +
      "use forge itself.",
  });
}
