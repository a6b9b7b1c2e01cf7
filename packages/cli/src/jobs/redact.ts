/** Hides the payload keys that a type's policy says no client may show. */
import { ForbiddenError, type Job, type JobForge } from "@jobforge/sdk-ts";

const hidden = "[redacted]";

export type Redact = <J extends Pick<Job, "type" | "payload">>(job: J) => Promise<J>;

/** Reads each type's policy once. A caller who may not read policies is shown no payload: what to hide is not known. */
export function redactor(forge: JobForge): Redact {
  const keys = new Map<string, Promise<readonly string[] | undefined>>();
  return async (job) => {
    let known = keys.get(job.type);
    if (known === undefined) {
      known = keysToHide(forge, job.type);
      keys.set(job.type, known);
    }
    const names = await known;
    return { ...job, payload: names === undefined ? hidden : withoutKeys(job.payload, new Set(names)) };
  };
}

async function keysToHide(forge: JobForge, type: string): Promise<readonly string[] | undefined> {
  try {
    return (await forge.policies.get(type)).redact;
  } catch (error) {
    if (error instanceof ForbiddenError) return undefined;
    throw error;
  }
}

function withoutKeys(value: unknown, names: ReadonlySet<string>): unknown {
  if (names.size === 0) return value;
  if (Array.isArray(value)) return value.map((each) => withoutKeys(each, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, names.has(key) ? hidden : withoutKeys(each, names)]),
  );
}
