/** Reads the results back from the tables of docs/benchmarks.md, for pages that calculate with them. */

/** The figures of a cell that a job costs, of JobForge. */
export interface Cost {
  /** The title of the cell. */
  readonly cell: string;
  /** CPU time of the server and of the worker or client, in microseconds. */
  readonly server: number;
  readonly worker: number;
  /** Bytes. */
  readonly wal: number;
  readonly table: number;
  readonly index: number;
  readonly commits: number;
  readonly deadRows: number;
}

const costCells = {
  enqueue: "Enqueue one by one, 1 at a time",
  enqueueTogether: "Enqueue one by one, 50 at a time",
  enqueueBulk: "Enqueue in bulk",
  run: "Burn-down of jobs that do nothing, 1 process",
  runPayload: "Payloads of 1 kB",
  runSlow: "Handlers of 10 ms, 100 at a time",
  steady: "Produce and consume 500 jobs a second",
} as const;

export type Costs = Readonly<Record<keyof typeof costCells, Cost>>;

export class Cells {
  /** By the title of the cell, the contestant and the title of the column. */
  readonly #values: ReadonlyMap<string, number>;

  constructor(values: ReadonlyMap<string, number>) {
    this.#values = values;
  }

  find(cell: string, contestant: string, column: string): number | undefined {
    return this.#values.get(keyOf(cell, contestant, column));
  }

  /** Throws an error that names the value, if the page does not have it. */
  figure(cell: string, contestant: string, column: string): number {
    const value = this.find(cell, contestant, column);
    if (value === undefined)
      throw new MissingCellError(`the results have no "${column}" of ${contestant} in "${cell}"`);
    return value;
  }
}

/** The run has measured only some of the cells. */
export class MissingCellError extends Error {}

function keyOf(cell: string, contestant: string, column: string): string {
  return [cell, contestant, column].join("\n");
}

export function readCells(page: string): Cells {
  const values = new Map<string, number>();
  for (const section of page.split(/^#### /m).slice(1)) {
    const [title = "", ...lines] = section.split("\n");
    const [head = [], , ...rows] = lines.filter((line) => line.startsWith("|")).map(columnsOf);
    for (const [contestant = "", ...cells] of rows)
      for (const [place, text] of cells.entries()) {
        const value = Number.parseFloat(text.replaceAll(",", ""));
        if (Number.isFinite(value)) values.set(keyOf(title.trim(), contestant, head[place + 1] ?? ""), value);
      }
  }
  return new Cells(values);
}

function columnsOf(line: string): readonly string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((text) => text.trim());
}

export function costsIn(cells: Cells): Costs {
  const costOf = (cell: string): Cost => {
    const value = (column: string): number => cells.figure(cell, "jobforge", `${column}/job`);
    return {
      cell,
      server: value("server µs"),
      worker: value("worker µs"),
      wal: value("WAL B"),
      table: value("table B"),
      index: value("index B"),
      commits: value("commits"),
      deadRows: value("dead rows"),
    };
  };
  const entries = Object.entries(costCells).map(([name, cell]) => [name, costOf(cell)]);
  return Object.fromEntries(entries) as Costs;
}

/** When and where the results were measured. */
export function originIn(page: string): {
  readonly date: string;
  readonly cores: string;
  readonly postgres: string;
} {
  const [, date] = /^- (\d{4}-\d\d-\d\d), \d+ minutes?,/m.exec(page) ?? [];
  const [, cores] = /^- (\d+) × /m.exec(page) ?? [];
  const [, postgres] = /^- Postgres ([\d.]+)/m.exec(page) ?? [];
  if (date === undefined || cores === undefined || postgres === undefined)
    throw new MissingCellError("the results do not say when and where they were measured");
  return { date, cores, postgres };
}
