/**
 * Writes the output of a command: its result as text for people or as one JSON document for programs on standard
 * output, and remarks on standard error.
 */
import { asTyped } from "../invocation.ts";
import type { CliProcess } from "../process.ts";
import { type Style, styleFor } from "./style.ts";
import { type Column, table } from "./table.ts";
import { shownOn } from "./terminal.ts";

/** The options of a list that is cut into pages. */
export interface PagingOptions {
  readonly limit: number;
  readonly cursor?: number | undefined;
}

export class Output {
  readonly json: boolean;
  readonly style: Style;
  readonly #cli: CliProcess;

  constructor(cli: CliProcess, json: boolean) {
    this.#cli = cli;
    this.json = json;
    this.style = styleFor(cli.stdout, cli.env);
  }

  /** Writes the result of the command: the document with --json, else the text. */
  result(document: unknown, text: () => string): void {
    this.#print(this.json ? `${toJson(document)}\n` : text());
  }

  /** Writes a list: `{items, cursor}` with --json, else a table, or the text `empty` if there are no items. */
  list<Row>(
    items: readonly Row[],
    columns: readonly Column<Row>[],
    { empty, cursor }: { readonly empty: string; readonly cursor?: string | undefined },
  ): void {
    this.result({ items, cursor: cursor ?? null }, () =>
      items.length === 0 ? `${empty}\n` : this.table(items, columns),
    );
    if (cursor !== undefined && items.length > 0) this.remark(`There are more items: --cursor ${cursor}`);
  }

  /** Writes one page of a list that was read as a whole. The cursor is the number of items before the page. */
  page<Row>(
    all: readonly Row[],
    columns: readonly Column<Row>[],
    { empty, limit, cursor = 0 }: { readonly empty: string } & PagingOptions,
  ): void {
    const end = cursor + limit;
    const next = end < all.length ? String(end) : undefined;
    this.list(all.slice(cursor, end), columns, { empty, cursor: next });
  }

  table<Row>(items: readonly Row[], columns: readonly Column<Row>[]): string {
    const { isTTY, columns: width } = this.#cli.stdout;
    // A terminal without a known size has 0 columns, for example one of `script` or of a container.
    return table(columns, items, { style: this.style, width: isTTY && width ? width : undefined });
  }

  /** Writes a line to standard output while the command continues. */
  line(document: unknown, text: string): void {
    this.#print(this.json ? `${toJson(document)}\n` : `${text}\n`);
  }

  /** Resolves when the stream can take more, because its reader may be slow. */
  async raw(text: string): Promise<void> {
    const { stdout } = this.#cli;
    if (this.#print(text) !== false || stdout.once === undefined) return;
    await new Promise<void>((resolve) => stdout.once?.("drain", resolve));
  }

  /**
   * Writes a remark for people to standard error, so that the output can be piped. The commands in it are written as
   * they can be typed here.
   */
  remark(text: string): void {
    const { stderr } = this.#cli;
    if (!this.json) stderr.write(shownOn(stderr, `${this.typed(text)}\n`));
  }

  /** Returns a text with the commands in it as they can be typed here. */
  typed(text: string): string {
    return asTyped(text, this.#cli);
  }

  #print(text: string): unknown {
    const { stdout } = this.#cli;
    return stdout.write(shownOn(stdout, text));
  }

  /** Shows the progress of a long command in one line that is overwritten, in a terminal only. `end` removes it. */
  progress(label: string): { at(done: number, total: number): void; end(): void } {
    const { stderr } = this.#cli;
    if (this.json || stderr.isTTY !== true) return { at: () => undefined, end: () => undefined };
    return {
      at: (done, total) => {
        const share = total === 0 ? 1 : Math.min(1, done / total);
        const bar = "█".repeat(Math.round(share * 20)).padEnd(20, "░");
        stderr.write(`\r${label} ${bar} ${done.toLocaleString("en")}/${total.toLocaleString("en")}\u001b[K`);
      },
      end: () => void stderr.write("\r\u001b[K"),
    };
  }
}

/** Writes undefined as null, so that a program finds every key. */
export function toJson(document: unknown): string {
  return JSON.stringify(document, (_, value: unknown) => (value === undefined ? null : value));
}
