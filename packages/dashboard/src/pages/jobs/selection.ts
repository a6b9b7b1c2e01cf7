/** Which rows are selected. `all`: everything that the filter means, not only what is shown. */
import { useState } from "preact/hooks";

interface Row {
  readonly id: string;
  readonly tenant_id: string;
  readonly status: string;
}

export interface Selection {
  readonly rows: ReadonlyMap<string, Row>;
  readonly isAll: boolean;
  has(id: string): boolean;
  /** With `range`, selects everything between the row that was toggled last and this one. */
  toggle(row: Row, range: boolean): void;
  setAll(rows: readonly Row[], isSelected: boolean): void;
  selectAllThatMatch(): void;
  clear(): void;
}

interface State {
  readonly rows: ReadonlyMap<string, Row>;
  readonly isAll: boolean;
  readonly anchor: string | undefined;
}

const nothing: State = { rows: new Map(), isAll: false, anchor: undefined };

export function useSelection(shown: readonly Row[]): Selection {
  const [state, set] = useState<State>(nothing);
  return {
    rows: state.rows,
    isAll: state.isAll,
    has: (id) => state.isAll || state.rows.has(id),
    toggle: (row, range) =>
      set(({ rows, anchor }) => {
        const next = new Map(rows);
        const between = range && anchor !== undefined ? spanOf(shown, anchor, row.id) : [row];
        const isAdding = !rows.has(row.id);
        for (const each of between) {
          if (isAdding) next.set(each.id, each);
          else next.delete(each.id);
        }
        return { rows: next, isAll: false, anchor: row.id };
      }),
    setAll: (rows, isSelected) =>
      set({ ...nothing, rows: new Map(isSelected ? rows.map((row) => [row.id, row]) : []) }),
    selectAllThatMatch: () => set({ ...nothing, isAll: true }),
    clear: () => set(nothing),
  };
}

/** The rows between two rows, in the order of the list. */
export function spanOf<R extends { readonly id: string }>(rows: readonly R[], from: string, to: string): R[] {
  const ends = [from, to].map((id) => rows.findIndex((row) => row.id === id)).sort((a, b) => a - b);
  const [first = -1, last = -1] = ends;
  return first === -1 ? rows.filter(({ id }) => id === to) : rows.slice(first, last + 1);
}
