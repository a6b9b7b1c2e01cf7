/** Settings of this browser, such as the theme. They hold no data of jobs. */
import { type Signal, signal } from "@preact/signals";

const prefix = "jobforge.";

/** A signal whose value is kept in the browser. Any stored value that is not one of the allowed ones is ignored. */
export function stored<T extends string>(name: string, allowed: readonly T[], initial: T): Signal<T> {
  const found = read(name);
  const known = allowed.find((each) => each === found);
  const kept = signal<T>(known ?? initial);
  kept.subscribe((value) => write(name, value));
  return kept;
}

/** A signal of several of the allowed values, kept in their order. */
export function storedSet<T extends string>(
  name: string,
  allowed: readonly T[],
  initial: readonly T[],
): Signal<readonly T[]> {
  const found = read(name)?.split(",");
  const kept = signal<readonly T[]>(
    found === undefined ? initial : allowed.filter((each) => found.includes(each)),
  );
  kept.subscribe((values) => write(name, values.join()));
  return kept;
}

/** Storage may be forbidden, for example in a frame of another site. */
function read(name: string): string | null {
  try {
    return localStorage.getItem(prefix + name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(prefix + name, value);
  } catch {
    // The setting lasts until the page is closed.
  }
}
