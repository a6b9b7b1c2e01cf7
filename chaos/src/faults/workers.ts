/** Faults of worker processes. */
import { leaseMs } from "../jobs.ts";
import { between, type FaultKind } from "./fault.ts";

export const workerKilled: FaultKind = {
  name: "worker-kill",
  about: "Workers get SIGKILL in the middle of jobs, and are replaced later",
  make(world, random) {
    const posts = random.some(world.workers, between(random, 1, Math.max(1, world.workers.length - 1)));
    const keepsId = random.chance(0.5);
    return {
      name: this.name,
      holdMs: between(random, 200, 8_000),
      silences: false,
      inject: async () => {
        for (const { child } of posts) child.signal("SIGKILL");
        return `${posts.map(({ name }) => name).join(", ")}; their replacements ${keepsId ? "keep" : "change"} the id`;
      },
      heal: async () => {
        for (const post of posts) world.replaceWorker(post, keepsId);
      },
    };
  },
};

export const workerStopped: FaultKind = {
  name: "worker-stop",
  about:
    "Workers get SIGSTOP for longer than their leases, then SIGCONT, and continue as if nothing had happened",
  make(world, random) {
    const posts = random.some(world.workers, between(random, 1, world.workers.length));
    return {
      name: this.name,
      holdMs: between(random, leaseMs + 2_000, leaseMs * 3),
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
  about: "Every worker gets SIGTERM, one after the other, and is replaced",
  make(world, random) {
    const keepsId = random.chance(0.5);
    return {
      name: this.name,
      holdMs: 500,
      silences: false,
      inject: async () => {
        for (const post of world.workers) {
          const { child } = post;
          // If another fault has stopped the worker with SIGSTOP, SIGTERM has no effect. A deployment would then kill
          // it.
          const { isDown } = child;
          child.signal(isDown ? "SIGKILL" : "SIGTERM");
          const { code, signal } = await child.ended;
          if (code !== 0 && !isDown)
            world.violated("processes", `${child.name} did not shut down cleanly: ${signal ?? code}`);
          world.replaceWorker(post, keepsId);
        }
        return `replacements ${keepsId ? "keep" : "change"} the id`;
      },
      heal: async () => undefined,
    };
  },
};

const hourMs = 3_600_000;

export const clockJumped: FaultKind = {
  name: "clock-jump",
  about: "The clock of workers jumps by an hour, a day or a year, and back",
  make(world, random) {
    const posts = random.some(world.workers, between(random, 1, world.workers.length));
    const shiftMs = random.pick([-24, -1, 1, 24, 24 * 365]) * hourMs + between(random, 0, 60_000);
    return {
      name: this.name,
      holdMs: between(random, 2_000, 8_000),
      silences: false,
      inject: async () => {
        for (const { child } of posts) child.send({ shiftMs });
        return `${posts.map(({ name }) => name).join(", ")} by ${Math.round(shiftMs / 1000)} s`;
      },
      heal: async () => {
        for (const { child } of posts) child.send({ shiftMs: 0 });
      },
    };
  },
};
