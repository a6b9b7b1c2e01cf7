/** What the user chose: theme, density, zone of times, single-letter keys. */
import { effect, type Signal, signal } from "@preact/signals";
import { type Zone, zones } from "../lib/time.ts";
import { stored } from "./stored.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];
export const densities = ["dense", "roomy"] as const;

export const theme: Signal<Theme> = stored("theme", themes, "system");
export const density: Signal<(typeof densities)[number]> = stored("density", densities, "dense");
export const zone: Signal<Zone> = stored("zone", zones, "relative");
/** Whether single letters are shortcuts. Users of speech input switch them off (WCAG 2.1.4). */
export const letterKeys: Signal<"on" | "off"> = stored("letter-keys", ["on", "off"], "on");

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  document.documentElement.dataset["density"] = density.value;
});

/** The value after the current one, and the first after the last. */
export function nextOf<T>(values: readonly T[], current: T): T {
  return values[(values.indexOf(current) + 1) % values.length] ?? current;
}

/** The time, renewed each second while the page is visible. */
export const now: Signal<number> = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1000);
