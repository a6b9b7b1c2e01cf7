/** Lets the conductor shift the clock of this process: `Date` jumps to another time. Timers are not affected. */

let shiftMs = 0;
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(RealDate.now() + shiftMs);
    else super(...(args as [number]));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;

process.on("message", (message) => {
  if (typeof message === "object" && message !== null && "shiftMs" in message)
    shiftMs = Number(message.shiftMs);
});
