/** What the commands that show one thing print: a line for each fact. */
import type { Style } from "./style.ts";
import { plain } from "./terminal.ts";
import { ago } from "./values.ts";

/** A name and its value. A fact without a value is left out. */
export type Fact = readonly [name: string, value: string | undefined];

/** Formats facts, one per line. A value that `styled` names is already clean and coloured. */
export function factLines(facts: readonly Fact[], style: Style, styled: readonly string[] = []): string {
  return facts
    .flatMap(([name, value]) =>
      value === undefined
        ? []
        : [`${style("bold", name.padEnd(12))}${styled.includes(name) ? value : plain(value)}\n`],
    )
    .join("");
}

/** Formats a time for a fact: `2026-01-31T12:00:00.000Z (5m ago)`. */
export function timeFact(time: Date | undefined): string | undefined {
  return time === undefined ? undefined : `${time.toISOString()} (${ago(time)})`;
}

/** Formats a tenant: its label, if it has one, and its id. */
export function tenantFact({
  tenantId,
  tenantLabel,
}: {
  tenantId: string;
  tenantLabel: string | undefined;
}): string {
  return tenantLabel === undefined ? tenantId : `${tenantLabel} (${tenantId})`;
}
