/** The workers of the installation. */
import { fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import type { WorkerStatus } from "../words.ts";

export interface WorkerInfo {
  readonly id: string;
  readonly status: WorkerStatus;
  readonly instance: string | undefined;
  readonly tenantId: string | undefined;
  /** What people call the tenant. */
  readonly tenantLabel: string | undefined;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** The types it runs; undefined: all. */
  readonly types: readonly string[] | undefined;
  readonly concurrency: number | undefined;
  readonly running: number;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly version: string | undefined;
}

/** For operators and readers. */
export class Workers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The workers that send heartbeats, the last seen first. */
  async list(): Promise<WorkerInfo[]> {
    return fromRows<WorkerInfo>(await this.#transport.call<object[]>("jobforge_list_workers", {}));
  }
}
