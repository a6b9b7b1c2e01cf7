/** Watches the rooms of jobs during a storm: a job is in exactly one of them at any moment. */
import type { Sql } from "../kernel.ts";
import { kept } from "./client.ts";

type Place = { readonly id: string; readonly type: string; readonly rooms: number };

/** Every job with the number of its rooms. */
const placesQuery = `
  select r.id, r.type, count(*)::int as rooms
  from (
    select id, type from jobforge.queue
    union all
    select id, type from jobforge.runs
    union all
    select id, type from jobforge.archive
  ) r
  group by 1, 2`;

/** Dedupe keys without a live job that has them, and live jobs without their dedupe key. */
const keysQuery = `
  select coalesce(d.job_id, l.id) as id
  from jobforge.dedupe_keys d
  full join (select l.* from jobforge.live_rows l where l.dedupe_key is not null) l
    on l.id = d.job_id and l.tenant_id = d.tenant_id and l.type = d.type and l.dedupe_key = d.dedupe_key
  where d.job_id is null or l.id is null`;

export class RoomWatch {
  readonly #db: Sql;
  /** Jobs that must be in a room from now on, because their type keeps history. */
  readonly #known = new Set<string>();

  constructor(db: Sql) {
    this.#db = db;
  }

  /** Looks at the rooms once, with one snapshot: each job in the same moment. Returns what is wrong. */
  async look(): Promise<string[]> {
    // The snapshot comes before the plans: a leaf that is attached in between gets its rows from the default leaf, and
    // a plan from before would read neither.
    await this.#db.query("begin isolation level repeatable read");
    await this.#db.query("select 1");
    const places = await this.#db.query<Place>(placesQuery);
    const keys = await this.#db.query<{ id: string }>(keysQuery);
    await this.#db.query("commit");
    const present = new Set(places.map(({ id }) => id));
    const lost = [...this.#known].filter((id) => !present.has(id));
    for (const { id, type } of places) if (kept.includes(type)) this.#known.add(id);
    return [
      ...places.filter(({ rooms }) => rooms !== 1).map(({ id, rooms }) => `job ${id} is in ${rooms} rooms`),
      ...lost.map((id) => `job ${id} is in no room`),
      ...keys.map(({ id }) => `the dedupe key of job ${id} is wrong`),
    ];
  }
}
