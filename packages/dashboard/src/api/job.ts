/** One job: its row with exact numbers, its attempts, why it is where it is, and its result. */
import { useQuery } from "@tanstack/preact-query";
import { type Exact, field, parseExact } from "../lib/json.ts";
import { api, bodyOf, type Schemas } from "./client.ts";
import { type Job, type JobName, jobParams } from "./jobs.ts";

export type Attempt = Schemas["Attempt"];
export type Reason = Schemas["Reason"];
export type JobLog = Schemas["JobLog"];

export interface JobDetail {
  readonly row: Job;
  /** The same row, in which numbers keep their digits. */
  readonly exact: Exact;
}

const key = ({ id, tenant }: JobName, part: string): readonly unknown[] => ["job", id, tenant ?? null, part];

export const useJob = (name: JobName, isNamed = true) =>
  useQuery({
    queryKey: key(name, "row"),
    enabled: isNamed,
    queryFn: async (): Promise<JobDetail> => {
      const text = await bodyOf(api.GET("/v1/jobs/{id}", { params: jobParams(name), parseAs: "text" }));
      return { row: JSON.parse(text) as Job, exact: parseExact(text) };
    },
    meta: { live: true },
  });

export const useAttempts = (name: JobName) =>
  useQuery({
    queryKey: key(name, "attempts"),
    queryFn: () => bodyOf(api.GET("/v1/jobs/{id}/attempts", { params: jobParams(name) })),
    meta: { live: true },
  });

export const useLogs = (name: JobName, isAsked: boolean) =>
  useQuery({
    queryKey: key(name, "logs"),
    queryFn: () => bodyOf(api.GET("/v1/jobs/{id}/logs", { params: jobParams(name) })),
    enabled: isAsked,
    meta: { live: true },
  });

export const useReasons = (name: JobName) =>
  useQuery({
    queryKey: key(name, "reasons"),
    queryFn: () => bodyOf(api.GET("/v1/jobs/{id}/explain", { params: jobParams(name) })),
    meta: { live: true },
  });

/** The result. Undefined until the job has one. */
export const useResult = (name: JobName, isFinished: boolean) =>
  useQuery({
    queryKey: key(name, "result"),
    queryFn: async (): Promise<Exact> => {
      const text = await bodyOf(
        api.GET("/v1/jobs/{id}/result", { params: jobParams(name), parseAs: "text" }),
      );
      return field(parseExact(text), "result") ?? null;
    },
    enabled: isFinished,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Payload, progress and result without masks. The audit log says who has asked. */
export async function revealJob(name: JobName): Promise<Exact> {
  const text = await bodyOf(api.POST("/v1/jobs/{id}/reveal", { params: jobParams(name), parseAs: "text" }));
  return parseExact(text);
}
