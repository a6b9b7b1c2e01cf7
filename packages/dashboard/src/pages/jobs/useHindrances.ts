/** What holds a due job back, in a word next to its status: the page of the job says it in full. */
import { useQuery } from "@tanstack/preact-query";
import { api, bodyOf } from "../../api/client.ts";
import type { JobRow } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";

export type Hindrance = (job: JobRow) => string | undefined;

/** Asks for pauses and workers only if a row waits. Tenants may not see them; their rows still say "at a limit". */
export function useHindrances(jobs: readonly JobRow[]): Hindrance {
  const may = useMay();
  const isAsked = jobs.some(({ phase }) => phase === "due" || phase === "retrying");
  const gates = useQuery({
    queryKey: ["gates"],
    queryFn: () => bodyOf(api.GET("/v1/gates")),
    enabled: isAsked && may("list_gates"),
    meta: { live: true },
  });
  const types = useQuery({
    queryKey: ["types"],
    queryFn: () => bodyOf(api.GET("/v1/types", { params: { query: { span: "1 hour" } } })),
    enabled: isAsked && may("list_types"),
    meta: { live: true },
  });
  const paused = new Set((gates.data?.items ?? []).map(({ scope, key }) => `${scope} ${key}`));
  const unserved = new Set(
    (types.data?.items ?? []).filter(({ workers }) => workers === 0).map(({ type }) => type),
  );
  return ({ status, run_at, parked, type, tenant_id }) => {
    if (status !== "queued" || Date.parse(run_at) > Date.now()) return undefined;
    const isPaused = ["all ", `type ${type}`, `tenant ${tenant_id}`].some((each) => paused.has(each));
    if (isPaused) return "paused";
    if (unserved.has(type)) return "no worker";
    return parked ? "at a limit" : undefined;
  };
}
