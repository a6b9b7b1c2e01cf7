/** Whether tenants get what their weights promise: three strips of shares, one above the other. */
import type { JSX } from "preact";
import { countOf, duration, percent } from "../../lib/format.ts";
import { type Shares, sharesOf } from "../../lib/shares.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { Panel } from "../../ui/Panel.tsx";
import css from "./Fairness.module.css";
import type { ListedTenant } from "./useTenantFigures.ts";

interface FairnessProps {
  readonly tenants: readonly ListedTenant[];
}

/** What is compared, and how the value of one tenant is said. */
const strips: readonly (readonly [string, (tenant: ListedTenant) => number])[] = [
  ["Weight", ({ weight }) => weight],
  ["Runs", ({ runs }) => runs ?? 0],
  ["Backlog", ({ due }) => due ?? 0],
];

export function Fairness({ tenants }: FairnessProps): JSX.Element | null {
  if (tenants.length < 2) return null;
  return (
    <Panel title="Shares" note="Weight: what each may get. Runs: what each got in this hour and the last">
      <div class={css["strips"]}>
        {strips.map(([name, amountOf]) => (
          <Strip key={name} name={name} shares={sharesOf(tenants, amountOf, nameOf)} />
        ))}
      </div>
      <p class={css["verdict"]}>{verdictOf(tenants)}</p>
    </Panel>
  );
}

const nameOf = (tenant: ListedTenant): string => tenantName(tenant);

function Strip({ name, shares }: { name: string; shares: Shares }): JSX.Element {
  const words = shares.parts.map(({ label, value }) => `${label} ${percent(value, shares.total)}`).join(", ");
  return (
    <div class={css["strip"]}>
      <span>{name}</span>
      {shares.total === 0 ? (
        <p class={css["none"]}>None</p>
      ) : (
        <div role="img" aria-label={`${name}: ${words}`} class={css["bar"]}>
          {shares.parts.map(({ label, value, color }) => (
            <span
              key={label}
              class={css["part"]}
              title={`${label}: ${countOf(value)}, ${percent(value, shares.total)}`}
              style={{ flexGrow: value, borderColor: `var(--share-${color})` }}
            >
              {value / shares.total >= 0.08 && `${label} ${percent(value, shares.total)}`}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

/** Shares follow weights only while several tenants wait: who has nothing to run gets nothing. */
function verdictOf(tenants: readonly ListedTenant[]): string {
  const waiting = tenants.filter(({ due }) => (due ?? 0) > 0);
  if (waiting.length < 2) return "Fewer than two tenants wait now, so each gets what it asks for.";
  const [largest] = [...waiting].sort((a, b) => (b.due ?? 0) - (a.due ?? 0));
  const others = tenants.filter((each) => each !== largest && each.wait_p95_ms !== null);
  const slowest = Math.max(0, ...others.map(({ wait_p95_ms }) => wait_p95_ms ?? 0));
  const backlog = `${largest === undefined ? "" : tenantName(largest)} has the largest backlog`;
  if (others.length === 0) return `${backlog}. No other tenant has run anything in this hour and the last.`;
  return `${backlog}. 95 % of the jobs of every other tenant waited at most ${duration(slowest)}.`;
}
