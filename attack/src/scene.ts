/** The place of an attack: a database with two tenants, and a login for every kind of caller. */
import {
  cloneDatabase,
  type TestConnection,
  type TestDatabase,
  type TestServerAddress,
} from "@jobforge/testing";
import { differences, type Fingerprint, fingerprinter } from "./fingerprint.ts";
import type { Subject } from "./subjects.ts";
import { type Holdings, populate, tenantA, tenantB } from "./tenants.ts";
import type { Steps } from "./tour.ts";

export const callerNames = [
  "tenant A",
  "tenant B",
  "unbound tenant",
  "app",
  "bound worker",
  "unbound worker",
  "reader",
  "operator",
  "plain",
] as const;
export type CallerName = (typeof callerNames)[number];

export interface Caller {
  readonly name: CallerName;
  readonly role: string;
  readonly url: string;
  readonly connection: TestConnection;
}

const roles: Readonly<Record<CallerName, readonly string[]>> = {
  "tenant A": ["jobforge_tenant"],
  "tenant B": ["jobforge_tenant"],
  "unbound tenant": ["jobforge_tenant"],
  app: ["jobforge_app"],
  "bound worker": ["jobforge_worker"],
  "unbound worker": ["jobforge_worker"],
  reader: ["jobforge_reader"],
  operator: ["jobforge_operator"],
  plain: [],
};

const bindings: Partial<Readonly<Record<CallerName, string>>> = {
  "tenant A": tenantA,
  "tenant B": tenantB,
  "bound worker": tenantA,
};

/** Callers that may read and change the rows of all tenants, so their attacks are only controls. */
export const trusted: ReadonlySet<CallerName> = new Set<CallerName>(["unbound worker", "operator"]);

/** A statement that takes longer than this has not returned. */
export const statementTimeout = "20s";

/** A reader sees the names of workers and types, and why a gate is closed. */
const readerSees = /^mark[ab]7(-worker|-reason|\.type)/;

export class Scene implements AsyncDisposable {
  readonly db: TestDatabase;
  readonly a: Holdings;
  readonly b: Holdings;
  readonly callers: ReadonlyMap<CallerName, Caller>;
  readonly #fingerprint: (victim: string, attacker: string) => Promise<Fingerprint>;
  readonly #before: Map<string, Fingerprint> = new Map();

  private constructor(
    db: TestDatabase,
    [a, b]: readonly [Holdings, Holdings],
    callers: ReadonlyMap<CallerName, Caller>,
    fingerprint: (victim: string, attacker: string) => Promise<Fingerprint>,
  ) {
    this.db = db;
    this.a = a;
    this.b = b;
    this.callers = callers;
    this.#fingerprint = fingerprint;
  }

  static async open(server: TestServerAddress): Promise<Scene> {
    const db = await cloneDatabase(server);
    const populated = await populate(db, tenantA, "a");
    const b = await populate(db, tenantB, "b");
    const waiting = await populateShared(db);
    const a = { ...populated, knownJobs: [...populated.knownJobs, waiting] };
    // A tenant that moves the clock of its session must not move the kernel's.
    await db.query("select jobforge.allow_time_travel(false)");
    const callers = new Map<CallerName, Caller>();
    for (const name of callerNames) callers.set(name, await openCaller(db, name));
    return new Scene(db, [a, b], callers, await fingerprinter(db));
  }

  caller(name: CallerName): Caller {
    const found = this.callers.get(name);
    if (found === undefined) throw new Error(`There is no caller ${name}`);
    return found;
  }

  /** The tenant that a caller attacks. */
  victimOf(name: CallerName): Holdings {
    return name === "tenant B" ? this.a : this.b;
  }

  /** The secret values of the victim in a text that the caller received. */
  leaksIn(text: string, name: CallerName): string[] {
    if (trusted.has(name)) return [];
    const { marker, secretJobs } = this.victimOf(name);
    const markers = text.toLowerCase().match(new RegExp(`${marker}[-.]\\w+`, "g")) ?? [];
    const found = name === "reader" ? markers.filter((each) => !readerSees.test(each)) : markers;
    return [...new Set([...found, ...secretJobs.filter((id) => text.includes(id))])];
  }

  /** Remembers the data of the victim, for `check`. Call it before a caller's step. */
  async remember(name: CallerName): Promise<void> {
    const { tenant } = this.victimOf(name);
    if (!this.#before.has(tenant))
      this.#before.set(tenant, await this.#fingerprint(tenant, otherThan(tenant)));
  }

  /** Forgets the data of both tenants, after a step that changed it as an operator. */
  forget(): void {
    this.#before.clear();
  }

  /** Records a violation if the caller received or changed anything of its victim. */
  async check(steps: Steps, name: CallerName, request: string, received: string): Promise<void> {
    const leaks = this.leaksIn(received, name);
    const { tenant } = this.victimOf(name);
    const shown = `${name}: ${request}`;
    if (leaks.length > 0) {
      const subject: Subject = /explain/.test(request) ? "explanations" : "isolation";
      steps.violated(subject, `the result contains ${leaks.join(", ")}`, shown);
    }
    const before = this.#before.get(tenant);
    if (before === undefined) throw new Error("The data of the tenants was not remembered");
    const after = await this.#fingerprint(tenant, otherThan(tenant));
    // The caller may have changed rows of its own tenant.
    this.#before.delete(otherThan(tenant));
    const changed = differences(before, after);
    if (changed.length === 0) return;
    this.#before.set(tenant, after);
    const subject: Subject = changed.every((table) => /workers/.test(table)) ? "worker names" : "isolation";
    steps.violated(subject, `rows of the other tenant changed in ${changed.join(", ")}`, shown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Logins may own objects, which would keep them from being dropped.
    for (const { role } of this.callers.values())
      await this.db.query(`drop owned by ${role} cascade`).catch(() => undefined);
    await this.db.drop();
  }
}

const otherThan = (tenant: string): string => (tenant === tenantA ? tenantB : tenantA);

/** A gate, and a type with a limit: a job of B runs, and a job of A waits for it. Returns the waiting job. */
async function populateShared(db: TestDatabase): Promise<string> {
  await db.query(`select jobforge_set_policy('capped', '{"lease_ms": 86400000}')`);
  await db.query("select jobforge_set_limit('type', 'capped', 1)");
  await db.query("select jobforge_enqueue_job($1, 'capped', '{\"note\": \"markb7-payload\"}')", [tenantB]);
  await db.query("select id from jobforge_claim_jobs('markb7-worker', 1, '{capped}')");
  const id = await db.value<string>("select jobforge_enqueue_job($1, 'capped') ->> 'id'", [tenantA]);
  await db.query("select jobforge_set_gate('type', 'closed', true, 'markb7-reason')");
  // Counts the jobs of the tenants that have a quota.
  for (let times = 0; times < 3; times += 1) await db.query("select jobforge_maintain()");
  return id;
}

async function openCaller(db: TestDatabase, name: CallerName): Promise<Caller> {
  const { role, url } = await db.createLogin(...roles[name]);
  const tenant = bindings[name];
  if (tenant !== undefined) await db.query("select jobforge_bind_role($1, $2)", [role, tenant]);
  return { name, role, url, connection: await openAs(db, url) };
}

/** Opens a connection as a login. A statement that does not return is canceled. */
export async function openAs(db: TestDatabase, url: string): Promise<TestConnection> {
  const connection = await db.connect(url);
  await connection.query(`set statement_timeout = '${statementTimeout}'`);
  return connection;
}
