/** A process of a run: starts, signals and watches it. A process that exits without a signal from us is a violation. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const keptLines = 60;
/** The unit of times in /proc, which Linux has fixed for user space. */
const ticksPerSecond = 100;

export class Child {
  readonly name: string;
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** The last lines it wrote. */
  readonly lines: string[] = [];
  isOver = false;
  /** It was signaled to exit. */
  isExpected = false;
  /** It was stopped or killed, so it cannot react to anything. */
  isDown = false;

  /** `program` is a file of JavaScript. */
  constructor(program: string, name: string, env: Record<string, string>) {
    this.name = name;
    const { PATH, HOME } = process.env;
    this.process = spawn(process.execPath, [program], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: {
        ...(PATH ? { PATH } : {}),
        ...(HOME ? { HOME } : {}),
        NODE_ENV: "production",
        NAME: name,
        ...env,
      },
    });
    this.process.channel?.unref();
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.lines.push(...chunk.toString("utf8").trimEnd().split("\n"));
        this.lines.splice(0, this.lines.length - keptLines);
      });
    }
    this.ended = once(this.process, "close").then(([code, signal]) => {
      this.isOver = true;
      return { code, signal };
    });
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL" || signal === "SIGTERM") this.isExpected = true;
    this.isDown = signal === "SIGKILL" || signal === "SIGSTOP" || (this.isDown && signal !== "SIGCONT");
    this.process.kill(signal);
  }

  send(message: object): void {
    if (this.process.connected) this.process.send(message);
  }

  /** Seconds of CPU time used so far; undefined on systems without /proc. */
  cpuSeconds(): number | undefined {
    try {
      const fields = readFileSync(`/proc/${this.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
    } catch {
      return undefined;
    }
  }
}
