/** The waits of a policy after each failed execution, as the kernel computes them, without jitter. */

interface Backoff {
  readonly base_ms: number;
  readonly cap_ms: number | null;
  readonly factor: number;
  readonly max_attempts: number;
}

const longestMs = 365 * 86_400_000;
const mostSteps = 12;

/** At most a dozen waits. A job with `max_attempts` executions has one wait fewer. */
export function ladderOf({ base_ms, cap_ms, factor, max_attempts }: Backoff): readonly number[] {
  const steps = Math.max(0, Math.min(max_attempts - 1, mostSteps));
  return Array.from({ length: steps }, (_, n) => Math.min(cap_ms ?? longestMs, base_ms * factor ** n));
}
