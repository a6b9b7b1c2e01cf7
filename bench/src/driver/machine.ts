/** The machine of a benchmark: absolute numbers say more about it than about a queue. */
import { arch, cpus, platform, release, totalmem } from "node:os";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGB: number;
  readonly system: string;
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
  };
}
