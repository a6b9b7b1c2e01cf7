/** The access log. */
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test as plain } from "vitest";
import { createLogger } from "../src/log.ts";
import { appToken, startServer, T, test } from "./support/server.ts";

test("the access log has a line for each request, with its trace and without secrets", async ({ db }) => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write: (chunk, _, done) => {
      lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
      done();
    },
  });
  await using http = await startServer(db, { logger: pino({}, sink) });
  const token = await appToken(T);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await http.request("/v1/jobs?subject=hidden", { token, headers: { traceparent } });
  await http.request("/v1/jobs/17/attempts", { token });
  await http.request("/rest/v1/rpc/jobforge_list_gates", { token, body: {} });
  expect(lines).toMatchObject([
    {
      method: "GET",
      route: "/v1/jobs",
      status: 200,
      role: "jobforge_app",
      tenant_id: T,
      trace_id: traceparent.slice(3, 35),
    },
    { method: "GET", route: "/v1/jobs/:id/attempts", status: 400, role: null },
    { method: "POST", route: "/rest/v1/rpc/:name", status: 403, role: "jobforge_app" },
  ]);
  const text = JSON.stringify(lines);
  for (const secret of [token, "hidden"]) expect(text).not.toContain(secret);
});

test("the log of an unexpected error has no rows, statements or URLs", async ({ db }) => {
  const lines: string[] = [];
  const logger = createLogger({ level: "error", write: (line) => void lines.push(line) });
  const hidden = { detail: "Failing row contains (hidden)", query: "select hidden", input: "/?token=hidden" };
  const tick = (): never => {
    throw Object.assign(new TypeError("broken"), { ...hidden, code: "ERR_X" });
  };
  await using http = await startServer(db, { tick, logger });
  const response = await http.request("/api/jobs/tick?token=hidden", { method: "POST", token: "hidden" });
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining("broken")]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { message: "Request failed", error: { type: "TypeError", code: "ERR_X", message: "broken" } },
    { message: "Request", status: 500 },
  ]);
  expect(lines.join("")).not.toContain("hidden");
});

plain("an unknown log level is refused with a message that lists the valid ones", () => {
  expect(() => createLogger({ level: "bogus" })).toThrow("trace, debug, info, warn, error, fatal, silent");
  for (const level of ["silent", "debug"]) expect(createLogger({ level }).level).toBe(level);
});
