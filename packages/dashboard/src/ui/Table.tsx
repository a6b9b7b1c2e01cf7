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

export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>): JSX.Element | null {
  const shown = columns.filter((column) => column !== false);
  // A heading without rows says nothing. The page says in words that there are none.
  if (rows.length === 0) return null;
  return (
    <div class={css["scroll"]}>
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
              {shown.map(({ title, cell, kind = "text" }) => {
                const content = cell(row);
                return (
                  <td
                    key={title}
                    class={`${css[kind] ?? ""} ${weightOf(content)}`}
                    {...(kind === "actions" ? {} : { "data-label": title })}
                  >
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Nothing and zero are faint, so that the eye finds the other values. A card has no place for nothing. */
function weightOf(content: ComponentChildren): string {
  if (content === "–" || content === "" || content === null) return css["nothing"] ?? "";
  return content === "0" || content === "0 %" ? (css["zero"] ?? "") : "";
}

/** A table with a frame, as the main part of a page. */
export function TableList<Row>(props: TableProps<Row>): JSX.Element {
  return (
    <div class={css["list"]}>
      <Table {...props} />
    </div>
  );
}
