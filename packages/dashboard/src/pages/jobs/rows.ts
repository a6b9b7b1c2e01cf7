/** Moves through the rows of a list by keyboard, and remembers the list for the page of one job. */

/** The keys of every list. */
export const rowKeys = { j: () => moveRow(1), k: () => moveRow(-1) } as const;
/** Pages that are one list also take the arrows; on others they scroll. */
export const listKeys = { ...rowKeys, ArrowDown: () => moveRow(1), ArrowUp: () => moveRow(-1) } as const;

/** Focuses the link of the next or previous row. False if there is no row. */
function moveRow(step: 1 | -1): boolean {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("main tbody tr a:first-of-type")].filter(
    (link, index, all) => index === 0 || all[index - 1]?.closest("tr") !== link.closest("tr"),
  );
  const row = document.activeElement?.closest("tr");
  const current = links.findIndex((link) => link.closest("tr") === row);
  const next = links[current === -1 ? (step === 1 ? 0 : links.length - 1) : current + step];
  next?.focus();
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
  return links.length > 0;
}

interface Named {
  readonly id: string;
  readonly tenant_id: string;
}

let remembered: readonly Named[] = [];

export function rememberList(jobs: readonly Named[]): void {
  remembered = jobs;
}

/** The job before or after one in the list that was shown last. */
export function neighbour(id: string, step: 1 | -1): Named | undefined {
  const at = remembered.findIndex((job) => job.id === id);
  return at === -1 ? undefined : remembered[at + step];
}
