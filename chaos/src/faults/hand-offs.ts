/** Faults of jobs that enqueues hand to idle workers, without a claim. They need a world without limits. */
import type pg from "pg";
import type { Random } from "../../../sql/test/support/random.ts";
import { plain, tenants } from "../jobs.ts";
import type { Post, World } from "../world.ts";
import { between, type FaultKind } from "./fault.ts";

const handOffSql = "jobforge_enqueue_job($1, $2, $3, p_hand_off => true)";

interface Made {
  readonly status: string;
  readonly locked_by: string | null;
}

/** The arguments of a job that takes a while. */
function jobOf(random: Random): [tenant: string | undefined, type: string, payload: string] {
  return [random.pick(tenants.slice(1)), plain.type, JSON.stringify({ ms: between(random, 50, 400) })];
}

/** Enqueues a job that may be handed over. Resolves to the worker that it was handed to, if any. */
async function handOff(world: World, random: Random): Promise<Post | undefined> {
  const made = await world.direct.value<Made>(`select ${handOffSql}`, jobOf(random));
  return world.workers.find(({ id }) => made.status === "running" && id === made.locked_by);
}

/** Does something again and again, each time after the one before has ended. Returns a function that ends this. */
function repeat(act: () => Promise<unknown>, everyMs: number): () => Promise<void> {
  let isOver = false;
  const acting = (async () => {
    while (!isOver) {
      await act().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return async () => {
    isOver = true;
    await acting;
  };
}

export const handOffUnheard: FaultKind = {
  name: "hand-off-unheard",
  about: "Jobs are handed to workers whose LISTEN sessions end before the commit",
  isPlain: true,
  make(world, random) {
    let end = async (): Promise<void> => undefined;
    return {
      name: this.name,
      holdMs: between(random, 1_000, 4_000),
      silences: false,
      inject: async () => {
        end = repeat(
          () =>
            world.direct.rows(
              `with ended as materialized (
                 select pg_terminate_backend(pid) from pg_stat_activity
                 where usename = 'chaos_worker' and query ~* '^(un)?listen')
               select ${handOffSql} from (select count(*) from ended) e`,
              jobOf(random),
            ),
          between(random, 50, 500),
        );
        return "again and again";
      },
      heal: () => end(),
    };
  },
};

export const handOffKilled: FaultKind = {
  name: "hand-off-killed",
  about: "A worker gets SIGKILL as soon as a job was handed to it",
  isPlain: true,
  make(world, random) {
    const keepsId = random.chance(0.5);
    let killed: Post | undefined;
    return {
      name: this.name,
      holdMs: between(random, 200, 6_000),
      silences: false,
      inject: async () => {
        for (let tries = 0; tries < 100 && killed === undefined; tries += 1) {
          killed = await handOff(world, random);
          killed?.child.signal("SIGKILL");
        }
        return killed === undefined
          ? "no worker was idle"
          : `${killed.name}, which ${keepsId ? "keeps" : "changes"} its id`;
      },
      heal: async () => {
        if (killed !== undefined) world.replaceWorker(killed, keepsId);
      },
    };
  },
};

export const handOffOpen: FaultKind = {
  name: "hand-off-open",
  about: "Transactions that hand jobs to workers stay open, and are then committed or rolled back",
  isPlain: true,
  make(world, random) {
    const sessions: pg.Client[] = [];
    const isKept = random.chance(0.5);
    return {
      name: this.name,
      // Some are committed after the worker would have had to list the job.
      holdMs: between(random, 1_000, 13_000),
      silences: false,
      inject: async () => {
        let handed = 0;
        for (let n = 0; n < 6; n += 1) {
          const session = await world.direct.session();
          sessions.push(session);
          await session.query("begin");
          const { rows } = await session.query<{ made: Made }>(`select ${handOffSql} as made`, jobOf(random));
          if (rows[0]?.made.status === "running") handed += 1;
        }
        return `${handed} of ${sessions.length} jobs were handed over; ${isKept ? "committed" : "rolled back"}`;
      },
      heal: async () => {
        for (const session of sessions) {
          await session.query(isKept ? "commit" : "rollback").catch(() => undefined);
          await session.end();
        }
      },
    };
  },
};

export const handOffRestarted: FaultKind = {
  name: "hand-off-restarted",
  about: "A worker is started under the id of one that was stopped or killed, while jobs are handed over",
  isPlain: true,
  make(world, random) {
    const post = random.pick(world.workers);
    const lives = random.chance(0.5);
    const { child: before } = post;
    let end = async (): Promise<void> => undefined;
    return {
      name: this.name,
      holdMs: between(random, 1_000, 5_000),
      silences: false,
      inject: async () => {
        end = repeat(() => handOff(world, random), 30);
        before.signal(lives ? "SIGSTOP" : "SIGKILL");
        world.replaceWorker(post, true);
        return `${post.name}; its predecessor ${lives ? "continues for a moment" : "is gone"}`;
      },
      heal: async () => {
        if (lives) {
          before.signal("SIGCONT");
          await new Promise((resolve) => setTimeout(resolve, between(random, 100, 1_500)));
          before.signal("SIGKILL");
        }
        await end();
      },
    };
  },
};
