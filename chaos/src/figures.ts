/** The figures of a run. */
import type { Conductor } from "./conductor.ts";
import type { World } from "./world.ts";

export interface FaultFigures {
  readonly name: string;
  readonly times: number;
  /** The median of the times until work flowed again. */
  readonly medianMs: number;
  /** The longest of these times. */
  readonly maxMs: number;
}

export interface Figures {
  readonly minutes: number;
  readonly jobs: Readonly<Record<string, number>>;
  readonly attempts: Readonly<Record<string, number>>;
  readonly executions: number;
  /** Executions that continued after their lease was lost. */
  readonly outlived: number;
  readonly staleReplies: number;
  readonly forgedEnds: number;
  readonly scheduleRuns: number;
  readonly canceled: number;
  readonly keyed: number;
  readonly effects: number;
  readonly serialJobs: number;
  /** Runs that began without a claim. */
  readonly handed: number;
  readonly samples: number;
  readonly processes: number;
  readonly droppedNotifications: number;
  /** The largest share of a core that a process used while the database was unreachable. */
  readonly cpu: number;
  readonly errorsLogged: Readonly<Record<string, number>>;
  readonly faults: readonly FaultFigures[];
}

const countsSql = `select jsonb_build_object(
  'jobs', (select jsonb_object_agg(status, n) from (select status, count(*) as n from jobforge.archive group by 1) s),
  'attempts', (select jsonb_object_agg(status, n) from (select status, count(*) as n from jobforge.all_attempts group by 1) s),
  'executions', (select count(*) from chaos.executions),
  'outlived', (select count(*) from chaos.executions e join jobforge.all_attempts a
    on (a.job_id, a.attempt_no) = (e.job_id, e.attempt)
    where a.status = 'lost' and e.ended_at > a.finished_at),
  'staleReplies', (select count(*) from chaos.replies where reply = 'stale'),
  'scheduleRuns', (select count(*) from jobforge.archive where schedule_id is not null),
  'canceled', (select count(*) from chaos.cancels),
  'keyed', (select count(*) from chaos.keys),
  'effects', (select count(*) from chaos.effects),
  'serialJobs', (select count(*) from jobforge.archive where concurrency_key is not null),
  'handed', (select count(*) from jobforge.all_attempts where handed))`;

type Counted = Pick<
  Figures,
  | "jobs"
  | "attempts"
  | "executions"
  | "outlived"
  | "staleReplies"
  | "scheduleRuns"
  | "canceled"
  | "keyed"
  | "effects"
  | "serialJobs"
  | "handed"
>;

export async function figuresOf(world: World, conductor: Conductor, minutes: number): Promise<Figures> {
  return {
    ...(await world.direct.value<Counted>(countsSql)),
    minutes,
    forgedEnds: conductor.staleProbes,
    samples: conductor.samples,
    processes: world.started,
    droppedNotifications: world.proxy.dropped,
    cpu: Math.max(0, ...conductor.steps.map(({ cpu }) => cpu ?? 0)),
    errorsLogged: world.server.errorsLogged(),
    faults: faultFigures(conductor),
  };
}

function faultFigures({ steps }: Conductor): FaultFigures[] {
  const names = [...new Set(steps.flatMap(({ faults }) => faults))].sort();
  return names.map((name) => {
    const flows = steps
      .filter(({ faults }) => faults.includes(name))
      .map(({ flowMs = Number.POSITIVE_INFINITY }) => flowMs)
      .sort((a, b) => a - b);
    return {
      name,
      times: flows.length,
      medianMs: flows[Math.floor(flows.length / 2)] ?? Number.NaN,
      maxMs: flows.at(-1) ?? Number.NaN,
    };
  });
}
