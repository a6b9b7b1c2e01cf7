/** The types of jobs in the installation. */
import { checkRange } from "../arguments/values.ts";
import { knownOptions } from "../option-names.ts";
import { fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds } from "../words.ts";

export interface TypeOptions {
  /** How far back finished jobs are counted, in milliseconds: up to seven days. Default: one hour. */
  readonly spanMs?: number | undefined;
}

export interface TypeInfo {
  readonly type: string;
  readonly due: number;
  readonly scheduled: number;
  readonly running: number;
  readonly oldestDueAt: Date | undefined;
  /** Finished within the span; so are the next three. */
  readonly succeeded: number;
  readonly failed: number;
  readonly dead: number;
  readonly canceled: number;
  /** Median time from due to start, of the last runs of finished jobs. */
  readonly waitMs: number | undefined;
  readonly runMs: number | undefined;
  /** Workers that are alive and can run the type. */
  readonly workers: number;
  readonly paused: boolean;
  readonly hasPolicy: boolean;
  /** False if `due` and `scheduled` are estimates, because there are many. `running` is always exact. */
  readonly exact: boolean;
  /** Schedules whose time has come and of which no worker has made a job yet; at most 1,000 are counted. */
  readonly dueSchedules: number;
  /** When the first of them became due. */
  readonly oldestScheduleAt: Date | undefined;
}

/** For operators and readers. */
export class JobTypes {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The types, with how many jobs of each wait, run and have just finished. */
  async list(options: TypeOptions = {}): Promise<TypeInfo[]> {
    const { spanMs } = knownOptions(options, "types");
    if (spanMs !== undefined) checkRange(spanMs, "spanMs", bounds.typeSpanMs);
    const rows = await this.#transport.call<object[]>("jobforge_list_types", {
      p_span: spanMs === undefined ? undefined : `${spanMs} milliseconds`,
    });
    return fromRows<TypeInfo>(rows);
  }
}
