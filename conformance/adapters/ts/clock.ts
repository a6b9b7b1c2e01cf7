/** Moves the clock of this process, for stores whose times follow the clocks of clients. Timers are not affected. */

const RealDate = Date;
let aheadMs = 0;

class MovedDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(RealDate.now() + aheadMs);
    else super(...(args as [number]));
  }

  static override now(): number {
    return RealDate.now() + aheadMs;
  }
}

/** The clock is ahead by this many seconds from now on. */
export function moveClock(seconds: number): void {
  aheadMs = seconds * 1000;
  globalThis.Date = MovedDate as DateConstructor;
}
