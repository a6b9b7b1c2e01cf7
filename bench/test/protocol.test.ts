import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ContestantProcess } from "../src/driver/contestant-process.ts";
import { cpuOfTrees, cpuSeconds, readStat } from "../src/driver/cpu.ts";
import { readReply } from "../src/driver/protocol.ts";

const count = { do: "count" } as const;
const here = fileURLToPath(new URL(".", import.meta.url));

function contestant(program: string): ContestantProcess {
  return new ContestantProcess({ command: process.execPath, args: ["-e", program] }, process.env, here);
}

/** A program that replies to each line with the value of an expression of the request `r`. */
function replying(expression: string): string {
  return `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const r = JSON.parse(line);
    console.log(${expression});
  });`;
}

describe("a reply", () => {
  test("is returned unchanged", () => {
    expect(readReply(count, '{"done":3,"first":1,"last":2}')).toEqual({ done: 3, first: 1, last: 2 });
  });

  test("that says why a request is unsupported or failed is thrown as an error of that kind", () => {
    expect(() => readReply(count, '{"unsupported":"no such thing"}')).toThrow(
      expect.objectContaining({ name: "Unsupported", message: "no such thing" }),
    );
    expect(() => readReply(count, '{"error":"broken"}')).toThrow(
      expect.objectContaining({ name: "ContestantError", message: "broken" }),
    );
  });

  test.each(["nonsense", "[]", "null", "3", "{}", '{"done":"3"}'])("of %s is rejected", (line) => {
    expect(() => readReply(count, line)).toThrow(/the reply to "count"/);
  });
});

describe("a contestant's process", () => {
  test("replies to requests in order", async () => {
    await using process = contestant(replying("JSON.stringify({ jobs: r.rate, seconds: 1 })"));
    const ask = (rate: number) => process.ask({ do: "produce", rate, seconds: 1, tenants: 1, tenantFrom: 0 });
    const replies = await Promise.all([ask(1), ask(2), ask(3)]);
    expect(replies.map(({ jobs }) => jobs)).toEqual([1, 2, 3]);
  });

  test("that exits is reported with its exit code and the end of its log", async () => {
    await using process = contestant('console.error("no database"); setTimeout(() => process.exit(7), 20)');
    await expect(process.ask(count)).rejects.toThrow(/exited \(7\): no database/);
    await expect(process.ask(count)).rejects.toThrow(/exited \(7\)/);
  });

  test("that does not reply is killed", async () => {
    await using process = contestant("process.stdin.resume()");
    await expect(process.ask(count, 0.05)).rejects.toThrow(
      /exited \(SIGKILL\).*no reply to "count" within 0.05 s/s,
    );
  });

  test("that cannot be started is an error", async () => {
    await using process = new ContestantProcess({ command: "/no/such/program", args: [] }, {}, here);
    await expect(process.ask(count)).rejects.toThrow(/could not be started/);
  });

  test("that keeps running after its input is closed is killed", async () => {
    const process = contestant(`${replying("JSON.stringify({ done: 0 })")} setInterval(() => {}, 1000)`);
    await process.ask(count);
    await process.close(0.05);
    await expect(process.ask(count)).rejects.toThrow(/exited \(SIGKILL\)/);
  });
});

describe("CPU seconds", () => {
  const stat = (pid: number, name: string, parent: number, times: string): string =>
    `${pid} (${name}) S ${parent} 1 1 0 -1 4194560 1 1 0 0 ${times} 20 0 1 0 1 1 1`;

  test("are read correctly if the process name looks like more fields", () => {
    expect(readStat(stat(42, "a (b) S 7", 7, "150 50 300 100"))).toEqual({
      pid: 42,
      name: "a (b) S 7",
      parent: 7,
      own: 2,
      ended: 4,
    });
  });

  test("of a tree include all descendants of the root, in any order", () => {
    const all = [
      readStat(stat(30, "grandchild", 20, "100 0 0 0")),
      readStat(stat(20, "child", 10, "200 0 0 0")),
      readStat(stat(10, "root", 1, "400 0 800 0")),
      readStat(stat(11, "stranger", 1, "1600 0 0 0")),
    ];
    expect(cpuOfTrees([10], all)).toBe(15);
    expect(cpuOfTrees([20, 11], all)).toBe(19);
    expect(cpuOfTrees([99], all)).toBe(0);
  });

  test.runIf(process.platform === "linux")("of this process grow while it works", () => {
    const before = cpuSeconds([process.pid]) ?? 0;
    let sum = 0;
    while ((cpuSeconds([process.pid]) ?? 0) <= before) sum += Math.sqrt(sum + 1);
    expect(cpuSeconds([process.pid])).toBeGreaterThan(before);
  });
});
