/**
 * Forged, foreign and malformed tokens, and valid tokens of tenant A that name tenant B in every route. No token may
 * act for another tenant or another role than its issuer intended.
 */
import { createHash } from "node:crypto";
import type { TestDatabase } from "@jobforge/testing";
import { describe, Target } from "../http.ts";
import { intrusion, type Route, routesOf } from "../routes.ts";
import { Scene } from "../scene.ts";
import type { Subject } from "../subjects.ts";
import { tenantA, tenantB } from "../tenants.ts";
import { sign } from "../tokens.ts";
import type { Steps, Tour } from "../tour.ts";
import { type Forgery, forgeries, strangers } from "./forgeries.ts";
import { keySet } from "./key-set.ts";

/** How often a valid token of tenant A visits a route for each forged token. */
const routeShare = 3;

export const tokensTour: Tour = {
  name: "tokens",
  about: "forged and malformed tokens and keys, and valid tokens that name the other tenant in every route",
  async play(server, steps) {
    await using scene = await Scene.open(server);
    await using target = await Target.open(scene);
    await using keys = await keySet(scene);
    const routes = await routesOf(target, await sign({ role: "jobforge_operator" }));
    const refused = (
      name: string,
      subject: Subject,
      to: Target,
      token: string | Promise<string>,
    ): (() => Promise<void>) => {
      return async () => requireRefused(scene, steps, to, { name, subject, token: await token, routes });
    };
    const plays = [
      ...forgeries.map(
        ({ name, subject, token }) =>
          async () =>
            refused(name, subject, target, token(steps.random))(),
      ),
      ...strangers.map((stranger) => () => visitAsStranger(scene, steps, target, stranger, routes)),
      ...keys.forgeries.map(
        ({ name, token }) =>
          async () =>
            refused(name, "tokens", keys.target, token())(),
      ),
      ...(await revokedKeys(scene.db)).map(([name, key]) => refused(name, "tokens", target, key)),
      ...routes.flatMap((route) =>
        Array.from({ length: routeShare }, () => () => intrude(scene, steps, target, route)),
      ),
    ];
    await steps.each(plays, (play) => play());
  },
};

interface Refusal {
  readonly name: string;
  readonly subject: Subject;
  readonly token: string;
  readonly routes: readonly Route[];
}

/** A view that every accepted token of an application or an operator can read. */
const probe = "/rest/v1/jobforge_jobs?limit=1";

/** Statuses of a refused token. 0: Node does not send such a header. 400, 413 and 431: the header is refused. */
const refusals: ReadonlySet<number> = new Set([0, 400, 401, 403, 413, 431]);

/** Sends a token that must be refused to a view and to a random route. */
async function requireRefused(
  scene: Scene,
  steps: Steps,
  target: Target,
  { name, subject, token, routes }: Refusal,
): Promise<void> {
  const { random } = steps;
  const route = random.pick(routes.filter(({ path, isPublic }) => !isPublic && path !== "/v1/openapi.json"));
  const sent = intrusion(random, route, scene.b, token);
  const { authorization, ...headers } = sent.headers as Record<string, string>;
  const credential = random.chance(0.8) ? { authorization } : { apikey: token };
  for (const request of [
    { path: probe, headers: credential },
    { ...sent, headers: { ...headers, ...credential } },
  ]) {
    await scene.remember("plain");
    const { status, text } = await target.send(request);
    steps.saw(String(status));
    if (!refusals.has(status)) steps.violated(subject, `${name}: status ${status}`, describe(request));
    await scene.check(steps, "plain", describe(request), text);
  }
}

/** Sends a token of a tenant that has no rows to a view and to a random route. It must see no row of A or B. */
async function visitAsStranger(
  scene: Scene,
  steps: Steps,
  target: Target,
  { name, subject, token }: Forgery,
  routes: readonly Route[],
): Promise<void> {
  const { random } = steps;
  const signed = await token(random);
  // A stranger attacks tenant A as tenant B does, or tenant B as a login without rights does.
  const [as, other] = random.pick([["tenant B", "plain"] as const, ["plain", "tenant B"] as const]);
  const view = { path: probe, headers: { authorization: `Bearer ${signed}` } };
  for (const request of [view, intrusion(random, random.pick(routes), scene.victimOf(as), signed)]) {
    await scene.remember(as);
    const { status, text } = await target.send(request);
    steps.saw(String(status));
    const shown = `${name} ${describe(request)}`;
    if (request === view && status !== 200)
      steps.violated(subject, `status ${status}: ${text.slice(0, 200)}`, shown);
    if (status >= 500 || status === 0) steps.violated("requests", `status ${status}`, shown);
    const leaks = scene.leaksIn(text, other);
    if (leaks.length > 0) steps.violated("isolation", `the result contains ${leaks.join(", ")}`, shown);
    await scene.check(steps, as, shown, text);
  }
}

/** Sends a valid token of tenant A to a route, with the ids and names of tenant B. */
async function intrude(scene: Scene, steps: Steps, target: Target, route: Route): Promise<void> {
  const { random } = steps;
  const claims = random.pick<Record<string, unknown>>([
    { role: "jobforge_app", tenant_id: tenantA },
    { role: "authenticated", app_metadata: { tenant_id: tenantA }, user_metadata: { tenant_id: tenantB } },
    { role: "jobforge_app" },
    { role: "jobforge_tenant", tenant_id: tenantB },
    { role: "jobforge_app", tenant_id: tenantA, app_metadata: { tenant_id: tenantB } },
  ]);
  await scene.remember("app");
  const request = intrusion(random, route, scene.b, await sign(claims));
  const { status, text } = await target.send(request);
  steps.saw(String(status));
  const shown = `${JSON.stringify(claims)} ${describe(request)}`;
  if (status >= 500 || status === 0)
    steps.violated("requests", `status ${status}: ${text.slice(0, 200)}`, shown);
  await scene.check(steps, "app", shown, text);
}

/** Keys that were revoked or have expired, and texts that look like keys. */
async function revokedKeys(db: TestDatabase): Promise<[name: string, key: string][]> {
  const create = (tenant: string | null, role: string): Promise<{ id: string; token: string }> =>
    db.value("select jobforge_create_token('attack', $2, $1)", [tenant, role]);
  const revoked = await create(null, "jobforge_operator");
  await db.query("select jobforge_revoke_token($1)", [revoked.id]);
  const expired = await create(tenantB, "jobforge_app");
  await db.query("update jobforge.tokens set expires_at = created_at where id = $1", [expired.id]);
  const alive = await create(tenantB, "jobforge_app");
  return [
    ["a revoked key", revoked.token],
    ["an expired key", expired.token],
    [
      "a key with another last character",
      `${alive.token.slice(0, -1)}${alive.token.endsWith("0") ? "1" : "0"}`,
    ],
    ["a key in upper case", alive.token.toUpperCase()],
    ["the digest of a key", createHash("sha256").update(alive.token).digest("hex")],
    [
      "a key with the digest of another",
      `jf_${"0".repeat(8)}_${createHash("sha256").update(alive.token).digest("hex")}`,
    ],
    ["a key that is a pattern", `jf_${"%".repeat(8)}_${"%".repeat(64)}`],
    ["a short key", "jf_x"],
  ];
}
