/** Reads the options of the command line. */
import { parseArgs } from "node:util";
import { type Peer, peers } from "./driver/peers.ts";
import { workloads } from "./workloads/index.ts";
import type { Workload } from "./workloads/workload.ts";

export interface Options {
  readonly quick: boolean;
  readonly json: boolean;
  readonly write: boolean;
  readonly rounds: number;
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
  readonly databaseUrl: string | undefined;
}

export const usage = `npm run bench -- [options]

Runs JobForge and its peers on the same work, in turn, on one server. Compare ratios, not absolute numbers, and run
nothing else on the machine meanwhile.

  --quick               measure fewer and shorter cells: less than five minutes
  --rounds N            rounds of each cell, at least 1 (default: 3)
  --only a,b            run only these workloads
  --peers a,b           run only these peers; jobforge always takes part
  --database-url URL    use this server instead of an embedded one; its role must be allowed to create databases
                        (default: the variable DATABASE_URL)
  --json                print one JSON document to standard output
  --write               write the results and charts into docs/benchmarks.md, and what follows from them into
                        docs/scaling.md

Workloads: ${workloads.map(({ id }) => id).join(", ")}
Peers: ${peers.map(({ name }) => name.replaceAll(" ", "-")).join(", ")}`;

/** Parses the options. Throws an error with a message for the user if an option is invalid. */
export function readOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      rounds: { type: "string", default: "3" },
      only: { type: "string" },
      peers: { type: "string" },
      "database-url": { type: "string" },
    },
  });
  if (values.help) return "help";
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds must be a whole number, at least 1");
  const { quick, json, write } = values;
  const usual = workloads.filter((workload) => workload.quick !== false || !quick);
  const invited = peers.filter((peer) => peer.fullOnly !== true || !quick);
  const guests = chosen("--peers", values.peers, peers, ({ name }) => [name, name.replaceAll(" ", "-")]);
  return {
    quick,
    json,
    write,
    rounds,
    workloads: chosen("--only", values.only, workloads, namesOf) ?? usual,
    peers: guests === undefined ? invited : peers.filter((peer, n) => n === 0 || guests.includes(peer)),
    databaseUrl: values["database-url"] ?? process.env["DATABASE_URL"],
  };
}

/** The names by which a workload can be chosen: its own, and those of its cells. */
function namesOf({ id, cells }: Workload): readonly string[] {
  return [id, ...cells.map((cell) => cell.id)];
}

/** The items of a list that an option names. */
function chosen<T>(
  option: string,
  value: string | undefined,
  all: readonly T[],
  names: (each: T) => readonly string[],
): readonly T[] | undefined {
  if (value === undefined) return undefined;
  const wanted = value.split(",").map((name) => name.trim());
  for (const name of wanted) {
    if (!all.some((each) => names(each).includes(name))) {
      const known = all.map((each) => names(each)[0]).join(", ");
      throw new Error(`${option}: "${name}" is unknown. Known: ${known}`);
    }
  }
  return all.filter((each) => names(each).some((name) => wanted.includes(name)));
}
