/** Moves through the rows of a list by keyboard, and remembers the list for the page of one job. */

/** Focuses the link of the next or previous row. */
export function moveRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("main tbody tr a:first-of-type")].filter(
    (link, index, all) => index === 0 || all[index - 1]?.closest("tr") !== link.closest("tr"),
  );
  const row = document.activeElement?.closest("tr");
  const current = links.findIndex((link) => link.closest("tr") === row);
  const next = links[current === -1 ? (step === 1 ? 0 : links.length - 1) : current + step];
  next?.focus();
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
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
