/** Everything that is recorded about one job, to find out what went wrong. */
import type { Direct } from "./direct.ts";

const queries: Readonly<Record<string, string>> = {
  job: "select to_jsonb(j) from jobforge.all_jobs j where j.id = $1",
  order: `select to_jsonb(o) from chaos.orders o
    where o.id = (select (j.payload ->> 'order')::uuid from jobforge.all_jobs j where j.id = $1)`,
  attempts: "select to_jsonb(a) from jobforge.all_attempts a where a.job_id = $1 order by a.attempt_no",
  executions: "select to_jsonb(e) from chaos.executions e where e.job_id = $1 order by e.started_at",
  replies: "select to_jsonb(r) from chaos.replies r where r.job_id = $1 order by r.at",
  transitions: "select to_jsonb(t) from chaos.transitions t where t.job_id = $1 order by t.id",
  effects: "select to_jsonb(e) from chaos.effects e where e.job_id = $1",
  cancels: "select to_jsonb(c) from chaos.cancels c where c.job_id = $1",
  audit: "select to_jsonb(a) from jobforge.audit_log a where a.entity_id = $1::text order by a.id",
};

export async function historyOf(direct: Direct, job: string): Promise<string> {
  const lines: string[] = [`history of job ${job}`];
  for (const [name, query] of Object.entries(queries)) {
    const found = await direct.rows(query, [job]);
    lines.push(...found.map((row) => `  ${name.padEnd(12)}${JSON.stringify(Object.values(row)[0])}`));
    if (found.length === 0) lines.push(`  ${name.padEnd(12)}none`);
  }
  return lines.join("\n");
}
