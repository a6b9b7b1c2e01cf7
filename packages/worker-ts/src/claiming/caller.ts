/** Makes one call of the loop at a time, and keeps the hints that its next claims pass back to the database. */
import type { ClaimRequest } from "./protocol.ts";

const maxHints = 16;

export class Caller {
  isBusy = false;
  /** By the types of the claim that returned them. */
  readonly #hints = new Map<string, unknown>();

  hintFor(request: ClaimRequest): unknown {
    return this.#hints.get(request.types.join());
  }

  keepHint(request: ClaimRequest, hint: unknown): void {
    if (this.#hints.size >= maxHints) this.#hints.clear();
    this.#hints.set(request.types.join(), hint);
  }
}
