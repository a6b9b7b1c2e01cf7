/** Faults of worker processes. */
import { LEASE_MS } from "../jobs.ts";
import type { Post, World } from "../world.ts";
import { between, type FaultKind } from "./fault.ts";

/** Puts another process in the place of one that is gone. Half of them keep their worker's id, as in a StatefulSet. */
function replace(world: World, post: Post, keepsId: boolean): void {
  const id = keepsId ? post.name : `${post.name}-${world.started}`;
  post.child = world.startWorker(post.name, { id });
}

export const workerKilled: FaultKind = {
  name: "worker-kill",
  about: "SIGKILL of workers in the middle of jobs; new ones come later",
  make(world, random) {
    const posts = random.some(world.workers, between(random, 1, Math.max(1, world.workers.length - 1)));
    const keepsId = random.chance(0.5);
    return {
      name: this.name,
      holdMs: between(random, 200, 8_000),
      silences: false,
      inject: async () => {
        for (const { child } of posts) child.signal("SIGKILL");
        return `${posts.map(({ name }) => name).join(", ")}; the next ones ${keepsId ? "keep" : "change"} the id`;
      },
      heal: async () => {
        for (const post of posts) replace(world, post, keepsId);
      },
    };
  },
};

export const workerStopped: FaultKind = {
  name: "worker-stop",
  about:
    "SIGSTOP of workers for longer than their leases, then SIGCONT: they go on as if nothing had happened",
  make(world, random) {
    const posts = random.some(world.workers, between(random, 1, world.workers.length));
    return {
      name: this.name,
      holdMs: between(random, LEASE_MS + 2_000, LEASE_MS * 3),
      silences: false,
      inject: async () => {
        for (const { child } of posts) child.signal("SIGSTOP");
        return posts.map(({ name }) => name).join(", ");
      },
      heal: async () => {
        for (const { child } of posts) child.signal("SIGCONT");
      },
    };
  },
};

export const workerReplaced: FaultKind = {
  name: "worker-deploy",
  about: "SIGTERM of every worker, one after the other, each followed by a new one",
  make(world, random) {
    const keepsId = random.chance(0.5);
    return {
      name: this.name,
      holdMs: 500,
      silences: false,
      inject: async () => {
        for (const post of world.workers) {
          const { child } = post;
          // Another fault may have stopped it: whoever deploys loses patience with it then.
          const { isDown } = child;
          child.signal(isDown ? "SIGKILL" : "SIGTERM");
          const { code, signal } = await child.ended;
          if (code !== 0 && !isDown)
            world.violated("processes", `${child.name} did not leave in order: ${signal ?? code}`);
          replace(world, post, keepsId);
        }
        return `new ones ${keepsId ? "keep" : "change"} the id`;
      },
      heal: async () => undefined,
    };
  },
};

const HOUR_MS = 3_600_000;

export const clockJumped: FaultKind = {
  name: "clock-jump",
  about: "The clock of workers jumps by seconds up to days, and back",
  make(world, random) {
    const posts = random.some(world.workers, between(random, 1, world.workers.length));
    const shiftMs = random.pick([-24, -1, 1, 24, 24 * 365]) * HOUR_MS + between(random, 0, 60_000);
    return {
      name: this.name,
      holdMs: between(random, 2_000, 8_000),
      silences: false,
      inject: async () => {
        for (const { child } of posts) child.tell({ shiftMs });
        return `${posts.map(({ name }) => name).join(", ")} by ${Math.round(shiftMs / 1000)} s`;
      },
      heal: async () => {
        for (const { child } of posts) child.tell({ shiftMs: 0 });
      },
    };
  },
};
