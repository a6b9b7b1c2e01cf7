/** Runs the driver in a real process and lets tests wait for its events and its end. */

import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { EmbeddedOptions } from "../../src/index.ts";
import { buildOnce, driverPath } from "./build.ts";
import { endServer } from "./world.ts";

export interface Started {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly directory: string;
  readonly adopted: boolean;
}

export interface Failed {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

export interface Child {
  readonly process: ChildProcess;
  /** Rejects if the child ends without starting a server. */
  started(): Promise<Started>;
  failed(): Promise<Failed>;
  /** Resolves with the next of these events that the child prints. */
  said(...events: string[]): Promise<Record<string, unknown>>;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly progress: string[];
  readonly errors: () => string;
}

interface Conditions {
  readonly behaviour?: string;
  /** Directory of the built package. Default: built from this checkout. */
  readonly bundle?: string;
  readonly driver?: string;
  readonly uid?: number;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

export async function runDriver(options: EmbeddedOptions, conditions: Conditions = {}): Promise<Child> {
  const bundle = join(conditions.bundle ?? (await buildOnce()), "index.js");
  const { PATH } = process.env;
  const { uid, cwd, behaviour = "wait", driver = driverPath } = conditions;
  const child = spawn(process.execPath, [driver, bundle, JSON.stringify(options), behaviour], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH, ...conditions.env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return listenTo(child);
}

function listenTo(child: ChildProcess): Child {
  const events: Record<string, unknown>[] = [];
  const progress: string[] = [];
  let stderr = "";
  const news = new EventEmitter();
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  const ended = once(child, "close").then(([code, signal]) => {
    news.emit("heard");
    return { code, signal };
  });
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const event = JSON.parse(line);
      if (event.event === "progress") progress.push(event.text);
      if (event.event === "started") onTestFinished(() => endServer(event.pid));
      events.push(event);
      news.emit("heard");
    });
  }
  const said = async (...names: string[]): Promise<Record<string, unknown>> => {
    for (;;) {
      const index = events.findIndex(({ event }) => names.includes(String(event)));
      const [event] = index < 0 ? [] : events.splice(index, 1);
      if (event !== undefined) return event;
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`The child ended without "${names}". Events: ${JSON.stringify(events)} ${stderr}`);
      }
      await once(news, "heard");
    }
  };
  return {
    process: child,
    started: async () => (await said("started")) as unknown as Started,
    failed: async () => (await said("failed")) as unknown as Failed,
    said,
    ended,
    progress,
    errors: () => stderr,
  };
}
