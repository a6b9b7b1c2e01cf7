/** Checks of the database server: version, notifications, clock, vacuum, and old transactions that hold vacuum back. */
import type { Health } from "@jobforge/sdk-ts";
import type { Check, Finding } from "./check.ts";
import { notAllowed, query } from "./check.ts";

export const serverVersion: Check = {
  name: "server",
  run: async ({ client }) => {
    const rows = await query<{ number: number; name: string; standby: boolean }>(
      client,
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as name,
         pg_is_in_recovery() as standby`,
    );
    const { number = 0, name = "", standby = false } = rows[0] ?? {};
    if (number < 150_000)
      return {
        verdict: "problem",
        message: `PostgreSQL ${name} is too old.`,
        advice: "JobForge needs PostgreSQL 15 or newer.",
      };
    if (standby)
      return {
        verdict: "problem",
        message: "This server is a standby.",
        advice: "Connect to the primary, because JobForge writes.",
      };
    return { verdict: "ok", message: `PostgreSQL ${name}.` };
  },
};

export const listening: Check = {
  name: "listen",
  run: async ({ forge }) => {
    const { listen } = forge.transport;
    if (listen === undefined) return { verdict: "warning", message: "This connection cannot listen." };
    let up = false;
    const listener = await listen(["jobforge_wake"], {
      onNotification: () => undefined,
      onState: (state) => {
        up = state === "up";
      },
    });
    await listener.close();
    if (up) return { verdict: "ok", message: "Notifications arrive." };
    return {
      verdict: "warning",
      message: "Notifications do not arrive, as is usual behind a pooler in transaction mode.",
      advice: [
        "Workers then poll and start jobs up to two seconds late.",
        "Give them a direct connection, or run them with --no-listen.",
      ].join(" "),
    };
  },
};

/** Warns before the kernel stops sending, which it does when the queue is half full. */
const queueAllowed = 0.25;

export const notifyQueue: Check = {
  name: "notify queue",
  run: async ({ health }) => {
    if (health === undefined) return notAllowed;
    const full = `The queue of notifications is ${Math.round(health.notifyQueue * 100)} % full.`;
    if (health.notifyQueue < queueAllowed) return { verdict: "ok", message: full };
    return {
      verdict: "warning",
      message: full,
      advice: [
        "A session that listens has left a transaction open: end it.",
        "JobForge sends no notifications from 50 % on, and workers then poll.",
      ].join(" "),
    };
  },
};

const skewAllowedMs = 2000;

/** Returns by how much a clock is off, if it was read between the local times `before` and `after`. */
export function skewOf(before: number, read: number, after: number): number {
  return Math.max(0, before - read, read - after);
}

export const clock: Check = {
  name: "clock",
  run: async ({ client }) => {
    const before = Date.now();
    const rows = await query<{ now: Date }>(client, "select clock_timestamp() as now");
    const after = Date.now();
    const skewMs = skewOf(before, rows[0]?.now.getTime() ?? after, after);
    if (skewMs <= skewAllowedMs)
      return { verdict: "ok", message: "This machine's clock and the server's agree." };
    return {
      verdict: "warning",
      message: `This machine's clock and the server's differ by ${(skewMs / 1000).toFixed(1)} s.`,
      advice: [
        "Only the server's clock decides when jobs run, but times that applications compute are wrong.",
        "Run NTP on both.",
      ].join(" "),
    };
  },
};

/** Dead rows of live jobs that vacuum should have removed: twice what the settings of their two tables allow. */
const deadAllowed = 80_000;
/** A job takes a few hundred bytes, and its index entries the same amount again. */
const bytesPerJob = 20_000;
const bytesAllowed = 256 * 2 ** 20;

export const vacuum: Check = {
  name: "vacuum",
  run: async ({ health }) => (health === undefined ? notAllowed : judgeHotTables(health.hot)),
};

/** Judges the numbers of the tables of live jobs, jobforge.queue and jobforge.runs. */
export function judgeHotTables(hot: Health["hot"]): Omit<Finding, "name"> {
  const bytes = hot.table_bytes + hot.index_bytes;
  const size = `${(bytes / 2 ** 20).toFixed(1)} MB, ${hot.live.toLocaleString("en")} live and ${hot.dead.toLocaleString("en")} dead rows`;
  if (!hot.autovacuum)
    return {
      verdict: "problem",
      message: `Autovacuum is off for jobforge.queue or jobforge.runs (${size}).`,
      advice: [
        "Turn it on: alter system set autovacuum = on; alter table jobforge.queue reset (autovacuum_enabled);",
        "alter table jobforge.runs reset (autovacuum_enabled);",
      ].join(" "),
      details: hot,
    };
  if (hot.dead > Math.max(deadAllowed, hot.live))
    return {
      verdict: "warning",
      message: `Dead rows accumulate in jobforge.queue and jobforge.runs: ${size}.`,
      advice: [
        "Find out what prevents vacuum from removing them (see the check xmin), then:",
        "vacuum jobforge.queue, jobforge.runs;",
      ].join(" "),
      details: hot,
    };
  if (bytes > bytesAllowed && bytes > hot.live * bytesPerJob)
    return {
      verdict: "warning",
      message: `jobforge.queue and jobforge.runs are bloated: ${size}.`,
      advice: [
        "To shrink their indexes: reindex table concurrently jobforge.queue;",
        "reindex table concurrently jobforge.runs;",
      ].join(" "),
      details: hot,
    };
  return {
    verdict: "ok",
    message: `jobforge.queue and jobforge.runs are in good shape: ${size}.`,
    details: hot,
  };
}

interface Holder {
  readonly who: string;
  readonly seconds: number | null;
  readonly transactions: number;
}

/** The sessions, slots and prepared transactions that prevent the removal of old row versions, the oldest first. */
const holdersOfXmin = `
  select h.who, h.seconds::int as seconds, h.transactions
  from (
    select format('session %s (%s, %s, %s)', pid, usename, nullif(application_name, ''), state) as who,
      extract(epoch from clock_timestamp() - xact_start) as seconds,
      greatest(age(backend_xmin), age(backend_xid)) as transactions
    from pg_stat_activity
    where pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)
    union all
    select format('replication slot %s', slot_name), null, greatest(age(xmin), age(catalog_xmin))
    from pg_replication_slots where xmin is not null
    union all
    select format('prepared transaction %s', gid), extract(epoch from clock_timestamp() - prepared), age(transaction)
    from pg_prepared_xacts
  ) h
  where h.transactions is not null
  order by h.seconds desc nulls last, h.transactions desc
  limit 1`;

/** Warns if a session, slot or prepared transaction has kept old rows for longer than allowed. */
export const xminCheck = (allowedSeconds: number): Check => ({
  name: "xmin",
  run: async ({ client }) => {
    const seen = await query<{ all: boolean }>(
      client,
      "select pg_has_role('pg_read_all_stats', 'usage') as all",
    );
    const rows = await query<Holder>(client, holdersOfXmin);
    const oldest = rows[0];
    const old = oldest?.seconds != null && oldest.seconds > allowedSeconds;
    if (oldest !== undefined && (old || oldest.transactions > 1_000_000))
      return {
        verdict: "warning",
        message: `${oldest.who} has prevented the removal of old rows for ${oldest.seconds ?? "?"} s and ${oldest.transactions} transactions.`,
        advice:
          "End it: select pg_terminate_backend(PID); or drop the slot. Until then claims must skip dead rows.",
        details: oldest,
      };
    if (seen[0]?.all !== true)
      return {
        verdict: "skipped",
        message: "This login sees only its own sessions.",
        advice: "Grant it pg_read_all_stats, so that it can find long transactions of other logins.",
      };
    return { verdict: "ok", message: "No transaction is old enough to hold vacuum back." };
  },
});

export const xmin: Check = xminCheck(300);
