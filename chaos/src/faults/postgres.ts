/** Faults of the server and its sessions. */
import type pg from "pg";
import type { World } from "../world.ts";
import { between, type Fault, type FaultKind } from "./fault.ts";

function outage(name: string, world: World, holdMs: number, stop: () => Promise<void>): Fault {
  return {
    name,
    holdMs,
    silences: true,
    inject: async () => {
      await stop();
      return `for ${(holdMs / 1000).toFixed(1)} s`;
    },
    heal: () => world.server.start(),
  };
}

export const postgresRestarted: FaultKind = {
  name: "postgres-restart",
  about: "Postgres is shut down cleanly (fast), and started again after seconds",
  make(world, random) {
    return outage(this.name, world, between(random, 500, 6_000), () => world.server.stop());
  },
};

export const postgresCrashed: FaultKind = {
  name: "postgres-crash",
  about: "Postgres is stopped without a clean shutdown (immediate), and recovers from its WAL",
  make(world, random) {
    return outage(this.name, world, between(random, 100, 4_000), () => world.server.crash());
  },
};

/** Terminates all sessions that match a condition, repeatedly while the fault lasts. */
function termination(name: string, world: World, holdMs: number, condition: string): Fault {
  let timer: NodeJS.Timeout | undefined;
  const terminate = async (): Promise<number> => {
    const ended = await world.direct.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${condition}`,
    );
    return ended.length;
  };
  return {
    name,
    holdMs,
    silences: false,
    inject: async () => {
      const first = await terminate();
      timer = setInterval(() => void terminate().catch(() => undefined), 700);
      return `${first} sessions, and more every 0.7 s`;
    },
    heal: async () => clearInterval(timer),
  };
}

export const sessionsTerminated: FaultKind = {
  name: "sessions-terminated",
  about: "pg_terminate_backend is called for all sessions of workers and applications",
  make(world, random) {
    const condition = "usename in ('chaos_worker', 'chaos_producer')";
    return termination(this.name, world, between(random, 100, 3_000), condition);
  },
};

export const listenersTerminated: FaultKind = {
  name: "listeners-terminated",
  about: "pg_terminate_backend is called for the sessions that LISTEN",
  make(world, random) {
    const condition = "usename = 'chaos_worker' and query ~* '^(un)?listen'";
    return termination(this.name, world, between(random, 100, 4_000), condition);
  },
};

export const connectionsExhausted: FaultKind = {
  name: "connections-exhausted",
  about: "Other clients take all connections, and workers and applications lose theirs",
  make(world, random) {
    const hogs: pg.Client[] = [];
    let isOver = false;
    const fill = async (): Promise<void> => {
      while (!isOver) {
        try {
          const hog = await world.direct.session(world.urls.hog);
          if (isOver) await hog.end();
          else hogs.push(hog);
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    let filling: Promise<void> = Promise.resolve();
    return {
      name: this.name,
      holdMs: between(random, 3_000, 10_000),
      silences: false,
      inject: async () => {
        filling = fill();
        const share = between(random, 1, 2);
        const ended = await world.direct.rows(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where usename in ('chaos_worker', 'chaos_producer') and pid % $1 = 0`,
          [share],
        );
        return `${ended.length} sessions were terminated and find no free slot`;
      },
      heal: async () => {
        isOver = true;
        await filling;
        await Promise.all(hogs.map((hog) => hog.end().catch(() => undefined)));
      },
    };
  },
};

export const xminPinned: FaultKind = {
  name: "xmin-pinned",
  about: "A transaction stays open, so vacuum cannot remove dead rows",
  make(world, random) {
    let session: pg.Client | undefined;
    return {
      name: this.name,
      holdMs: between(random, 5_000, 15_000),
      silences: false,
      inject: async () => {
        session = await world.direct.session();
        await session.query("begin isolation level repeatable read");
        await session.query("select count(*) from jobforge.live_rows");
        return "a snapshot of all jobs";
      },
      heal: async () => session?.end(),
    };
  },
};

export const serializationFailures: FaultKind = {
  name: "serialization-errors",
  about: "A trigger makes a share of all statements that change jobs fail with 40001",
  make(world, random) {
    const share = between(random, 5, 60) / 100;
    return {
      name: this.name,
      holdMs: between(random, 2_000, 8_000),
      silences: false,
      inject: async () => {
        await world.direct.rows("insert into chaos.trouble (share) values ($1)", [share]);
        return `${Math.round(share * 100)} %`;
      },
      heal: async () => void (await world.direct.rows("delete from chaos.trouble")),
    };
  },
};
