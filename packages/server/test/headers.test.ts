/** Security headers and CORS. */
import { expect } from "vitest";
import { appToken, startServer, T, test } from "./support/server.ts";

test("responses may not be framed, sniffed or stored", async ({ http }) => {
  const { headers } = await http.request("/v1/jobs", { token: await appToken(T) });
  expect(Object.fromEntries(headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "strict-transport-security": expect.stringContaining("max-age"),
    "cache-control": "no-store",
  });
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
