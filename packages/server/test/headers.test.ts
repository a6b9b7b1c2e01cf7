/** Security headers and CORS. */
import { expect } from "vitest";
import { appToken, startServer, T, test } from "./support/server.ts";

test("responses may not be framed, sniffed or stored", async ({ http }) => {
  const { headers } = await http.request("/v1/jobs", { token: await appToken(T) });
  expect(Object.fromEntries(headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "cache-control": "no-store",
  });
});

test("responses require TLS of browsers only where the server knows that the client uses it", async ({
  http,
  db,
}) => {
  const headerOf = (response: Response): string | null => response.headers.get("strict-transport-security");
  const forwarded = { headers: { "x-forwarded-proto": "https" } };
  expect(headerOf(await http.request("/healthz"))).toBeNull();
  // Anyone can send this header, so it counts only behind a trusted proxy.
  expect(headerOf(await http.request("/healthz", forwarded))).toBeNull();
  await using behind = await startServer(db, { trustProxy: 1 });
  expect(headerOf(await behind.request("/healthz"))).toBeNull();
  const plain = { headers: { "x-forwarded-proto": "https, http" } };
  expect(headerOf(await behind.request("/healthz", plain))).toBeNull();
  expect(headerOf(await behind.request("/healthz", forwarded))).toBe("max-age=15552000");
  expect(headerOf(await http.server.fetch(new Request("https://jobs.example/healthz")))).toBe(
    "max-age=15552000",
  );
});

test("pages of other origins may call only if their origin is listed", async ({ http, db }) => {
  const preflight = {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-method": "GET" },
  };
  const closed = await http.request("/v1/jobs", preflight);
  expect(closed.headers.get("access-control-allow-origin")).toBeNull();
  await using open = await startServer(db, { corsOrigins: ["https://app.example"] });
  const allowed = await open.request("/v1/jobs", preflight);
  expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
  const response = await open.request("/v1/jobs", { headers: { origin: "https://app.example" } });
  expect(response.headers.get("access-control-expose-headers")).toBe(
    "allow,content-range,location,retry-after,www-authenticate",
  );
  const other = await open.request("/v1/jobs", {
    ...preflight,
    headers: { ...preflight.headers, origin: "https://evil.example" },
  });
  expect(other.headers.get("access-control-allow-origin")).toBeNull();
});
