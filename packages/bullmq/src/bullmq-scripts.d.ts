/** The texts of BullMQ's scripts, which it has no types for. */
declare module "bullmq/dist/cjs/scripts/index.js" {
  export interface BullScript {
    readonly name: string;
    readonly content: string;
    readonly keys: number;
  }
  export const addDelayedJob: BullScript;
  export const addPrioritizedJob: BullScript;
  export const moveToActive: BullScript;
  export const moveToFinished: BullScript;
}
