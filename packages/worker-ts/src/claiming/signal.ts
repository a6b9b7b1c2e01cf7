/**
 * How the other parts of a worker reach the loop: the runner when a run has ended, idle and the notifications when a
 * job may be due. Work goes round in a circle (loop, intake, runner, settlements, loop), and only this class
 * refers back to the loop.
 */
export class LoopSignal {
  readonly #turn: () => void;
  #isScheduled = false;
  #mayBeDue = true;
  #wakeUps = 0;

  /** `turn` is a turn of the loop. */
  constructor(turn: () => void) {
    this.#turn = turn;
  }

  /** Whether a job may be due. */
  get mayBeDue(): boolean {
    return this.#mayBeDue;
  }

  /**
   * How often a job was reported as possibly due. If this grows during a claim, an empty response does not show that
   * no job is due.
   */
  get wakeUps(): number {
    return this.#wakeUps;
  }

  /** A job may be due: the loop looks for it now. */
  wake(): void {
    this.noteDue();
    this.#turn();
  }

  /** A job may be due: the loop looks for it at its next turn. */
  noteDue(): void {
    this.#mayBeDue = true;
    this.#wakeUps += 1;
  }

  /** A claim has shown whether more jobs are due. */
  noteClaim(isMoreDue: boolean): void {
    this.#mayBeDue = isMoreDue;
  }

  /**
   * A run has ended, or a job may start: the loop turns once for everything that happens in this turn of the event
   * loop.
   */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turn();
    });
  }
}
