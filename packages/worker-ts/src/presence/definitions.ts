/**
 * Brings the policies of the handled types in line with their definitions when a worker starts. The database decides
 * what is applied. Whatever is not applied is logged, with the command that applies it. A worker starts in any case.
 */
import {
  type Difference,
  ForbiddenError,
  InvalidArgumentError,
  type JobDefinition,
  type PolicySync,
  policiesOf,
  syncPolicies,
  type Transport,
} from "@jobforge/sdk-ts";
import { callTimeoutMs, syncRetryMs } from "../defaults.ts";
import type { WorkerLog } from "../reporting/log.ts";

export interface DefinitionsParts {
  readonly transport: Transport;
  readonly log: WorkerLog;
  readonly definitions: readonly JobDefinition[];
  /** The version of the application, if it gave one. */
  readonly appVersion: string | undefined;
}

export class Definitions {
  readonly #parts: DefinitionsParts;
  #retry: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: DefinitionsParts) {
    this.#parts = parts;
  }

  /** Syncs now. If the database cannot be reached, it tries again every minute until `stop`. Never rejects. */
  async sync(): Promise<void> {
    try {
      await this.#sync();
    } catch (error) {
      const { log } = this.#parts;
      const more = this.#isStopped ? "" : "; trying again in a minute";
      log.warn({ err: error }, `The policies could not be compared with the definitions${more}`);
      if (!this.#isStopped) this.#retry = setTimeout(() => void this.sync(), syncRetryMs).unref();
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
  }

  async #sync(): Promise<void> {
    const { definitions } = this.#parts;
    try {
      await this.#syncSome(definitions);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      // One invalid definition must not keep the others from being applied. A second try would be refused as well.
      for (const definition of definitions) await this.#syncAlone(definition);
    }
  }

  async #syncAlone(definition: JobDefinition): Promise<void> {
    try {
      await this.#syncSome([definition]);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      const { type } = definition;
      const key = error.field === undefined ? "" : `, because of ${optionOf(error.field)}`;
      this.#parts.log.error(
        { err: error, job_type: type },
        [
          `The definition of ${type} is not applied to its policy${key}: ${error.message}.`,
          "The policy stays as it is until the definition is corrected and a worker starts with it.",
        ].join(" "),
      );
    }
  }

  async #syncSome(definitions: readonly JobDefinition[]): Promise<void> {
    // Most starts change nothing, and then one call that takes no locks is enough.
    const planned = await this.#call(definitions, true);
    if (planned.every(({ action, known }) => known && action === "unchanged"))
      return this.#reportKept(planned);
    try {
      const synced = await this.#call(definitions, false);
      this.#reportChanges(synced);
      this.#reportKept(synced);
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      this.#reportForbidden(planned);
      this.#reportKept(planned);
    }
  }

  async #call(definitions: readonly JobDefinition[], dryRun: boolean): Promise<PolicySync[]> {
    const { transport, appVersion } = this.#parts;
    return await syncPolicies(transport, definitions, { appVersion, dryRun }, { timeoutMs: callTimeoutMs });
  }

  #reportChanges(synced: readonly PolicySync[]): void {
    const changed = synced.filter(({ action }) => action !== "unchanged");
    if (changed.length === 0) return;
    const what = changed.map(
      ({ type, changes }) => `${type} (${changes.map(change).join(", ") || "as the default"})`,
    );
    this.#parts.log.info({}, `Policies were set as the definitions say: ${what.join("; ")}`);
  }

  #reportForbidden(planned: readonly PolicySync[]): void {
    const differing = planned.filter(({ changes }) => changes.length > 0);
    if (differing.length === 0) return;
    this.#parts.log.warn(
      {},
      [
        "Definitions differ from the policies in the database, and this login may not change policies:",
        `${differing.map(({ type, changes }) => difference(type, changes)).join("; ")}.`,
        `Apply the definitions as a login with jobforge_operator: ${this.#command(differing, false)}`,
      ].join(" "),
    );
  }

  #reportKept(synced: readonly PolicySync[]): void {
    const byHand = synced.filter(({ keptBecause }) => keptBecause === "set_by_hand");
    if (byHand.length > 0)
      this.#parts.log.warn(
        {},
        [
          "Settings that an operator has set by hand differ from the definitions, and stay:",
          `${byHand.map(({ type, kept }) => difference(type, kept)).join("; ")}.`,
          `To apply the definitions: ${this.#command(byHand, true)}`,
        ].join(" "),
      );
    const newer = synced.filter(({ keptBecause }) => keptBecause === "newer_version");
    if (newer.length === 0) return;
    const own = this.#parts.appVersion === undefined ? "no version" : `version ${this.#parts.appVersion}`;
    this.#parts.log.warn(
      {},
      [
        `A newer version of the application is in force, so the definitions of this worker (${own}) are not applied:`,
        `${newer.map(({ type, kept, version }) => `${difference(type, kept)} [${version}]`).join("; ")}.`,
        `If this is a rollback: ${this.#command(newer, true)}`,
      ].join(" "),
    );
  }

  /** The command that applies the definitions of these types. The statement can be copied as it is. */
  #command(synced: readonly PolicySync[], force: boolean): string {
    const { definitions, appVersion } = this.#parts;
    const types = new Set(synced.map(({ type }) => type));
    const policies = policiesOf(definitions.filter(({ type }) => types.has(type)));
    const args = [
      literal(JSON.stringify(Object.fromEntries(policies))),
      ...(appVersion === undefined ? [] : [`p_version => ${literal(appVersion)}`]),
      ...(force ? ["p_force => true"] : []),
    ];
    const options = [
      ...(appVersion === undefined ? [] : [` --app-version ${JSON.stringify(appVersion)}`]),
      ...(force ? [` --types ${[...types].join(",")} --force`] : []),
    ];
    return `jobforge sync HANDLERS${options.join("")}, or select jobforge_sync_policies(${args.join(", ")});`;
  }
}

function difference(type: string, differences: readonly Difference[]): string {
  const each = differences.map(
    ({ key, from, to }) => `${key} is ${JSON.stringify(from)}, the definition says ${JSON.stringify(to)}`,
  );
  return `${type} (${each.join(", ")})`;
}

function change({ key, from, to }: Difference): string {
  return `${key} ${JSON.stringify(from)} → ${JSON.stringify(to)}`;
}

/** The option of a definition that has this key in SQL: `retention_days` → `retentionDays`. */
function optionOf(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A text as a literal of SQL. */
function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
