/** All parts of a run: the server, the network in front of it, the database, and the processes. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Direct } from "./direct.ts";
import { bundlePrograms, type Program } from "./processes/bundle.ts";
import { Child } from "./processes/child.ts";
import { FaultProxy } from "./proxy/proxy.ts";
import { createLogins, prepareDatabase } from "./schema.ts";
import { ChaosServer } from "./server.ts";
import type { Violation } from "./violation.ts";

export interface WorldOptions {
  readonly folder: string;
  readonly seed: number;
  readonly workers: number;
  readonly producers: number;
  readonly version?: 15 | 18 | undefined;
  /** No limits and no schedules, and applications that enqueue one by one, so that enqueues hand jobs to workers. */
  readonly isPlain?: boolean | undefined;
}

const databaseName = "chaos";

/** A place for a worker. Its process is replaced from time to time. */
export interface Post {
  readonly name: string;
  /** The id of the worker. */
  id: string;
  child: Child;
}

interface Parts {
  /** The folder with the bundled programs. */
  readonly programs: string;
  readonly proxy: FaultProxy;
  readonly direct: Direct;
  readonly urls: { readonly worker: string; readonly producer: string; readonly hog: string };
}

export class World {
  readonly options: WorldOptions;
  readonly server: ChaosServer;
  readonly violations: Violation[] = [];
  readonly workers: Post[] = [];
  readonly producers: Child[] = [];
  /** Called for each violation as soon as it is found. */
  onViolation: (violation: Violation) => void = () => undefined;
  /** The number of processes started so far. */
  started = 0;
  #parts: Parts | undefined;

  constructor(options: WorldOptions) {
    this.options = options;
    this.server = new ChaosServer({ directory: join(options.folder, "server"), version: options.version });
    mkdirSync(this.journals, { recursive: true });
  }

  get journals(): string {
    return join(this.options.folder, "journals");
  }

  get workerNames(): string[] {
    return Array.from({ length: this.options.workers }, (_, n) => `w${n + 1}`);
  }

  get proxy(): FaultProxy {
    return this.#built.proxy;
  }

  get direct(): Direct {
    return this.#built.direct;
  }

  get urls(): {
    readonly worker: string;
    readonly producer: string;
    readonly hog: string;
    readonly owner: string;
  } {
    return { ...this.#built.urls, owner: this.server.urlFor(databaseName) };
  }

  /** Starts the server, the database and the network, but no processes. */
  async build(): Promise<void> {
    await this.server.start();
    const admin = new Direct(this.server.urlFor("postgres"));
    await admin.rows(`create database ${databaseName}`);
    await admin.close();
    const url = this.server.urlFor(databaseName);
    await prepareDatabase(url, this.workerNames, this.options.isPlain === true);
    const urls = await createLogins(url, randomBytes(12).toString("hex"));
    this.#parts = {
      programs: await bundlePrograms(),
      proxy: await FaultProxy.before(this.server.port),
      direct: new Direct(url),
      urls,
    };
  }

  /** Starts all workers and producers. */
  populate(): void {
    for (const name of this.workerNames) {
      this.workers.push({ name, id: name, child: this.startWorker(name) });
    }
    for (let n = 1; n <= this.options.producers; n += 1) {
      const env = {
        DATABASE_URL: this.proxy.through(this.urls.producer),
        JOURNAL: this.journals,
        SEED: String(this.options.seed * 100 + n),
        PLAIN: this.options.isPlain === true ? "yes" : "",
      };
      this.producers.push(this.#watch(new Child(this.#file("producer"), `p${n}`, env)));
    }
  }

  /**
   * Starts a worker process. With the same id as before it is a new instance of that worker, otherwise a new worker.
   */
  startWorker(
    name: string,
    { id = name, program = "worker" }: { id?: string; program?: Program } = {},
  ): Child {
    const env = {
      DATABASE_URL: this.proxy.through(this.urls.worker),
      JOURNAL: this.journals,
      WORKER_ID: id,
      LOG_LEVEL: "warn",
    };
    return this.#watch(new Child(this.#file(program), name, env));
  }

  /**
   * Replaces a process that has exited, or will, with a new one. Half of the new ones keep the worker's id, as in a
   * StatefulSet.
   */
  replaceWorker(post: Post, keepsId: boolean): void {
    if (!keepsId) post.id = `${post.name}-${this.started}`;
    else post.id = post.name;
    post.child = this.startWorker(post.name, { id: post.id });
  }

  violated(check: string, what: string, job?: string): void {
    const violation = { check, what, job };
    this.violations.push(violation);
    this.onViolation(violation);
  }

  /** Stops everything that was started, in any state, and removes all files. */
  async remove(): Promise<void> {
    const children = [...this.workers.map(({ child }) => child), ...this.producers];
    for (const child of children) child.signal("SIGKILL");
    await Promise.all(children.map(({ ended }) => ended));
    await this.#parts?.direct.close();
    await this.#parts?.proxy.close();
    await this.server.remove();
    if (this.#parts) await rm(this.#parts.programs, { recursive: true, force: true });
    await rm(this.options.folder, { recursive: true, force: true });
  }

  #file(program: Program): string {
    return join(this.#built.programs, `${program}.mjs`);
  }

  #watch(child: Child): Child {
    this.started += 1;
    void child.ended.then(({ code, signal }) => {
      if (child.isExpected) return;
      this.violated(
        "processes",
        `${child.name} exited unexpectedly (${signal ?? code}):\n${child.lines.join("\n")}`,
      );
    });
    return child;
  }

  get #built(): Parts {
    if (this.#parts === undefined) throw new Error("The world has not been built");
    return this.#parts;
  }
}
