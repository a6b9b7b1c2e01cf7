/** What operators do to a system that works: they pause it, and they put a new version in place. */
import { migrate } from "@jobforge/sql";
import { definitions, tenants } from "../jobs.ts";
import { between, type FaultKind } from "./fault.ts";

const OPEN_ALL = "select jobforge_set_gate(scope, key, false) from jobforge.gates";

export const gatesFlapping: FaultKind = {
  name: "gates-flapping",
  about: "Gates of everything, of types and of tenants are closed and opened all the time",
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
        await world.direct.rows(OPEN_ALL);
      },
    };
  },
};

/**
 * What a deploy does: the migration of a release with other functions is applied while everybody works, and one place is taken by a worker
 * that knows nothing but the calls that the first release has promised.
 */
export const rollingUpgrade: FaultKind = {
  name: "rolling-upgrade",
  about:
    "All functions, views and grants are applied anew under load, beside a worker that speaks the first release's protocol",
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
          "update jobforge.repeatables set checksum = 'of an older file' where name = '010_errors.sql'",
        );
        const { refreshed } = await migrate({ database: world.urls.owner });
        if (!refreshed) world.violated("processes", "the migration of an upgrade did nothing");
        return `${post.name} is of the first release`;
      },
      heal: async () => {
        post.child.signal("SIGTERM");
        await post.child.ended;
        post.child = world.startWorker(post.name);
      },
    };
  },
};
