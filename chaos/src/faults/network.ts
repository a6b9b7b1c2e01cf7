/** Faults of the network between processes and the database. */
import { between, type FaultKind } from "./fault.ts";

export const connectionsCut: FaultKind = {
  name: "connections-cut",
  about: "All connections are closed, repeatedly",
  make(world, random) {
    let timer: NodeJS.Timeout | undefined;
    const everyMs = between(random, 200, 1_000);
    return {
      name: this.name,
      holdMs: between(random, 100, 4_000),
      silences: false,
      inject: async () => {
        const cut = world.proxy.cut();
        timer = setInterval(() => world.proxy.cut(), everyMs);
        return `${cut} connections, and all new ones every ${everyMs} ms`;
      },
      heal: async () => clearInterval(timer),
    };
  },
};

export const networkStalled: FaultKind = {
  name: "network-stall",
  about: "No byte is delivered for a while, and no connection reports an error; then delivery resumes",
  make(world, random) {
    return {
      name: this.name,
      holdMs: between(random, 2_000, 14_000),
      silences: true,
      inject: async () => {
        world.proxy.set({ stalled: true });
        return `${world.proxy.open} connections`;
      },
      heal: async () => world.proxy.set({ stalled: false }),
    };
  },
};

export const networkSlow: FaultKind = {
  name: "network-slow",
  about: "All bytes are delivered late and in small pieces",
  make(world, random) {
    const delayMs = between(random, 10, 120);
    const chunkBytes = between(random, 500, 4_000);
    return {
      name: this.name,
      holdMs: between(random, 3_000, 10_000),
      silences: false,
      inject: async () => {
        world.proxy.set({ delayMs, chunkBytes });
        return `${delayMs} ms for ${chunkBytes} bytes`;
      },
      heal: async () => world.proxy.set({ delayMs: 0, chunkBytes: 0 }),
    };
  },
};

export const networkForgot: FaultKind = {
  name: "network-half-open",
  about: "Every connection is permanently dead but looks alive on both sides; new ones work",
  make(world, random) {
    return {
      name: this.name,
      holdMs: between(random, 500, 3_000),
      silences: false,
      inject: async () => `${world.proxy.forget()} connections`,
      // The connections stay dead: processes must notice it themselves.
      heal: async () => undefined,
    };
  },
};

export const notificationsLost: FaultKind = {
  name: "notifications-lost",
  about: "No NOTIFY arrives, although the listening sessions are alive",
  make(world, random) {
    return {
      name: this.name,
      holdMs: between(random, 3_000, 10_000),
      silences: false,
      inject: async () => {
        world.proxy.set({ dropNotifications: true });
        return "all notifications";
      },
      heal: async () => world.proxy.set({ dropNotifications: false }),
    };
  },
};
