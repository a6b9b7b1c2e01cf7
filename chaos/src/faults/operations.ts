/** Actions of operators on a running system: pausing it, and upgrading it. */
import { migrate } from "@jobforge/sql";
import { definitions, tenants } from "../jobs.ts";
import { between, type FaultKind } from "./fault.ts";

const resumeAllSql = "select jobforge_set_gate(scope, key, false) from jobforge.gates";

export const gatesFlapping: FaultKind = {
  name: "gates-flapping",
  about: "Everything, types and tenants are paused and resumed all the time",
  make(world, random) {
    let timer: NodeJS.Timeout | undefined;
    let last: Promise<unknown> = Promise.resolve();
    const flip = (): Promise<unknown> => {
      const [scope, key] = random.pick([
        ["all", null],
        ["type", random.pick(definitions).type],
        ["tenant", random.pick(tenants)],
      ] as const);
      return world.direct
        .rows("select jobforge_set_gate($1, $2, $3)", [scope, key, random.chance(0.6)])
        .catch(() => undefined);
    };
    return {
      name: this.name,
      holdMs: between(random, 2_000, 6_000),
      silences: false,
      inject: async () => {
        timer = setInterval(() => {
          last = last.then(flip);
        }, 60);
        return "every 60 ms";
      },
      heal: async () => {
        clearInterval(timer);
        await last;
        await world.direct.rows(resumeAllSql);
      },
    };
  },
};

/**
 * Simulates a deployment: the migration of a release with different functions is applied under load, while one worker
 * is a program that only uses the calls of the first release.
 */
export const rollingUpgrade: FaultKind = {
  name: "rolling-upgrade",
  about:
    "All functions, views and grants are reapplied under load, while one worker uses the protocol of the first release",
  make(world, random) {
    const post = random.pick(world.workers);
    return {
      name: this.name,
      holdMs: between(random, 2_000, 6_000),
      silences: false,
      inject: async () => {
        post.child.signal("SIGTERM");
        await post.child.ended;
        post.child = world.startWorker(post.name, {
          id: `${post.name}-old-${world.started}`,
          program: "first-release-worker",
        });
        await world.direct.rows(
          "update jobforge.repeatables set checksum = 'of an older file' where name = 'functions/shared/errors.sql'",
        );
        const { refreshed } = await migrate({ database: world.urls.owner });
        if (!refreshed) world.violated("processes", "the migration of an upgrade did nothing");
        return `${post.name} uses the first release`;
      },
      heal: async () => {
        post.child.signal("SIGTERM");
        await post.child.ended;
        post.child = world.startWorker(post.name);
      },
    };
  },
};
