/** A plain table. On a narrow screen each row is a card, in which every value has its name. */
import type { ComponentChildren, JSX } from "preact";
import css from "./Table.module.css";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly kind?: "text" | "number" | "short" | "actions";
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly (Column<Row> | false)[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>): JSX.Element {
  const shown = columns.filter((column) => column !== false);
  return (
    <table class={css["table"]}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {shown.map(({ title, kind }) => (
            <th key={title} scope="col" class={kind === "number" ? css["number"] : undefined}>
              {kind === "actions" ? <span class="visually-hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} data-id={keyOf(row)}>
            {shown.map(({ title, cell, kind = "text" }) => (
              <td key={title} class={css[kind]} {...(kind === "actions" ? {} : { "data-label": title })}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A table with a frame, as the main part of a page. */
export function TableList<Row>(props: TableProps<Row>): JSX.Element {
  return (
    <div class={css["list"]}>
      <Table {...props} />
    </div>
  );
}
