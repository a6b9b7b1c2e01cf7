/** Keys of the HTTP server: created once, stored as a digest, recognised until they expire or are revoked. */
import { createHash } from "node:crypto";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { T, unknownId } from "../support/kernel.ts";

type Token = { id: string; token: string; prefix: string };

const digest = (token: string): string => createHash("sha256").update(token).digest("hex");

async function createToken(db: TestDatabase, role: string, tenantId: string | null = null): Promise<Token> {
  return await db.value<Token>("select jobforge_create_token('CI', $1, $2)", [role, tenantId]);
}

async function recognise(db: TestDatabase, token: string): Promise<unknown> {
  return await db.value("select jobforge_recognise_token($1)", [digest(token)]);
}

describe("a key", () => {
  test("is shown once, and stored as a digest only", async ({ db }) => {
    const { id, token, prefix } = await createToken(db, "jobforge_app", T);
    expect(token).toMatch(/^jf_[0-9a-f]{8}_[0-9a-f]{64}$/);
    expect(token.startsWith(`${prefix}_`)).toBe(true);
    const kept = JSON.stringify([
      await db.query("select * from jobforge.tokens"),
      await db.query("select * from jobforge.audit_log"),
      await db.query("select * from jobforge_list_tokens()"),
    ]);
    expect(kept).not.toContain(token.slice(prefix.length + 1));
    expect(kept).toContain(prefix);
    const known = { id, name: "CI", role: "jobforge_app", tenant_id: T, expires_at: null };
    expect(await recognise(db, token)).toEqual(known);
  });

  test("differs from every other key in all its parts", async ({ db }) => {
    const made: Token[] = [];
    for (const _ of [1, 2, 3]) made.push(await createToken(db, "jobforge_worker"));
    expect(new Set(made.map(({ token }) => token.split("_")[2])).size).toBe(3);
  });

  test("that is unknown, revoked or expired is not recognised", async ({ db }) => {
    expect(await recognise(db, "jf_00000000_unknown")).toBeNull();
    const { id, token } = await createToken(db, "jobforge_reader");
    expect(await db.value("select jobforge_revoke_token($1) ->> 'prefix'", [id])).toBe(token.slice(0, 11));
    expect(await recognise(db, token)).toBeNull();
    await db.query("select jobforge_revoke_token($1)", [id]);
    const passing = await db.value<Token>(
      "select jobforge_create_token('short', 'jobforge_worker', null, jobforge.now() + interval '1 hour')",
    );
    expect(await recognise(db, passing.token)).toMatchObject({ role: "jobforge_worker" });
    await db.travel("61 minutes");
    expect(await recognise(db, passing.token)).toBeNull();
  });

  test("records when it was used, once a minute, and never waits to do so", async ({ db }) => {
    const { token } = await createToken(db, "jobforge_reader");
    const used = (): Promise<Date> => db.value("select last_used_at from jobforge_list_tokens()");
    expect(await used()).toBeNull();
    await recognise(db, token);
    const first = await used();
    await recognise(db, token);
    expect(await used()).toEqual(first);
    await db.travel("2 minutes");
    await using other = await db.connect();
    await other.query("begin");
    await other.query("select * from jobforge.tokens for update");
    expect(await recognise(db, token)).not.toBeNull();
    await other.query("commit");
    expect(await used()).toEqual(first);
    await recognise(db, token);
    expect(await used()).not.toEqual(first);
  });

  test("is created, listed and revoked by operators, and recorded in the audit log", async ({ db }) => {
    const { id } = await createToken(db, "jobforge_app", T);
    await db.query("select jobforge_revoke_token($1)", [id]);
    expect(await db.query("select action, entity_id, tenant_id from jobforge_audit_log order by id")).toEqual(
      [
        { action: "TOKEN_CREATED", entity_id: id, tenant_id: T },
        { action: "TOKEN_REVOKED", entity_id: id, tenant_id: T },
      ],
    );
    const login = await db.createLogin("jobforge_app", "jobforge_worker", "jobforge_reader");
    await using other = await db.connect(login.url);
    for (const call of [
      "jobforge_create_token('x', 'jobforge_operator')",
      "jobforge_list_tokens()",
      "jobforge_revoke_token(gen_random_uuid())",
    ])
      await expect(other.query(`select ${call}`)).rejects.toMatchObject({ code: "42501" });
  });

  test.for([
    ["role", "'CI', 'jobforge_owner'"],
    ["role", "'CI', 'jobforge_tenant'"],
    ["role", "'CI', null"],
    ["name", "' ', 'jobforge_reader'"],
    ["tenant_id", "'CI', 'jobforge_app'"],
    ["tenant_id", `'CI', 'jobforge_operator', '${T}'`],
    ["expires_at", "'CI', 'jobforge_reader', null, now() - interval '1 s'"],
    ["expires_at", "'CI', 'jobforge_reader', null, 'infinity'"],
  ])("is refused with a wrong %s: %s", async ([field, args], { db }) => {
    await expect(db.query(`select jobforge_create_token(${args})`)).rejects.toMatchObject({
      code: "JF002",
      detail: expect.stringContaining(`"${field}"`),
    });
  });

  test("that does not exist cannot be revoked", async ({ db }) => {
    await expect(db.query("select jobforge_revoke_token($1)", [unknownId])).rejects.toMatchObject({
      code: "JF002",
    });
  });
});
