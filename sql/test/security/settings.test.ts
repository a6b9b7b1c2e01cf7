/** What a caller has set for its session or its role does not change what a function of the API does. */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { callSamples } from "../../../test/samples.ts";
import { storedApi } from "../support/api.ts";

const { functions } = storedApi();
const byName = new Map(functions.map((each) => [each.name, each]));

type Settings = Readonly<Record<string, string>>;

/** Settings that any role may change, and that would change values, names or texts. */
const hostile: Readonly<Record<string, Settings>> = {
  "an abbreviation of its own for UTC": { timezone: "<Z>5" },
  "a zone far from UTC, and days before months": { timezone: "UTC-5", datestyle: "SQL, DMY" },
  "a zone whose abbreviation is ambiguous": { timezone: "Asia/Kolkata", datestyle: "German, DMY" },
  "a zone with summer time": { timezone: "America/New_York", datestyle: "Postgres, MDY" },
  "other texts for values": {
    intervalstyle: "sql_standard",
    extra_float_digits: "-15",
    bytea_output: "escape",
    xmlbinary: "hex",
    xmloption: "document",
    timezone_abbreviations: "Australia",
    lc_time: "POSIX",
    lc_numeric: "POSIX",
    lc_monetary: "POSIX",
    client_encoding: "LATIN1",
  },
  "other rules for statements": {
    standard_conforming_strings: "off",
    escape_string_warning: "off",
    backslash_quote: "on",
    transform_null_equals: "on",
    array_nulls: "off",
    quote_all_identifiers: "on",
    default_text_search_config: "pg_catalog.simple",
    row_security: "off",
  },
  "other ways to find rows": {
    gin_fuzzy_search_limit: "1",
    work_mem: "64kB",
    enable_indexscan: "off",
    enable_bitmapscan: "off",
    enable_hashjoin: "off",
    enable_sort: "off",
    jit: "on",
    jit_above_cost: "0",
    plan_cache_mode: "force_generic_plan",
    join_collapse_limit: "1",
  },
  "checks of its own in PL/pgSQL": { "plpgsql.extra_errors": "all", "plpgsql.extra_warnings": "all" },
  "transactions of another kind": {
    default_transaction_isolation: "read committed",
    default_transaction_deferrable: "on",
    synchronous_commit: "off",
    default_toast_compression: "pglz",
  },
};

/** A login that may call every function, and one that is bound to a tenant by a sample. */
interface Logins {
  readonly caller: { readonly role: string; readonly url: string };
  readonly bound: string;
}

async function createLogins(db: TestDatabase): Promise<Logins> {
  const caller = await db.createLogin("jobforge_operator", "jobforge_worker");
  return { caller, bound: (await db.createLogin("jobforge_worker")).role };
}

/**
 * Makes all sample calls on one connection, and returns the results as text without what differs from run to run. Each
 * result is stored as the function returned it, and read under the default settings.
 */
async function transcript(connection: TestConnection, { bound }: Logins): Promise<string[]> {
  const results = await callSamples(async (name, args) => {
    const { parameters, returns } = byName.get(name) ?? failUnknown(name);
    const typeOf = new Map(parameters.map((each) => [each.name, each.type]));
    const named = Object.keys(args).map((each, index) => `${each} => $${index + 1}`);
    const values = Object.entries(args).map(([each, value]) =>
      typeOf.get(each) === "jsonb" && value !== null ? JSON.stringify(value) : value,
    );
    const result = returns.rows ? "x.*" : returns.type === "void" ? "null::text as x" : "x";
    await connection.query("begin");
    await connection.query(
      `create temporary table results on commit drop as select ${result} from public.${name}(${named.join(", ")}) x`,
      values,
    );
    await connection.query(
      "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local intervalstyle = 'postgres'; set local extra_float_digits = 1",
    );
    const rows = await connection.query<{ x: unknown }>(
      `select to_jsonb(r${returns.rows ? "" : ".x"}) as x from results r`,
    );
    await connection.query("commit");
    const found = rows.map(({ x }) => x);
    return returns.rows ? found : returns.type === "text" ? JSON.parse(String(found[0])) : found[0];
  }, bound);
  return withoutChance(results.map(({ name, result }) => `${name} ${JSON.stringify(result, null, 1)}`));
}

function failUnknown(name: string): never {
  throw new Error(`there is no function ${name}`);
}

/** Replaces ids, times of today, secrets and sizes. Times in another form than that of JSON in UTC stay. */
function withoutChance(texts: readonly string[]): string[] {
  const ids = new Map<string, string>();
  return texts.map((text) =>
    text
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
        if (!ids.has(id)) ids.set(id, `id ${ids.size + 1}`);
        return ids.get(id) ?? "";
      })
      // The queue of notifications belongs to the whole server.
      .replaceAll(
        /"(\w*(_ms|seconds|_bytes|live|dead|notify_queue))": -?\d[\d.]*(e-?\d+)?/g,
        '"$1": "a number"',
      )
      .replaceAll(/"(\w*_histogram)": \[[\d,\s]*\]/g, '"$1": "numbers"')
      .replaceAll(/202\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)/g, "a time")
      .replaceAll(/202\d-\d\d-\d\d/g, "a day")
      .replaceAll(/jobforge_login_[0-9a-f]+/g, "a login")
      .replaceAll(/jf_\w+/g, "a key")
      .replaceAll(/\b[0-9a-f]{32}\b/g, "a trace"),
  );
}

describe("the results of every function are the same", () => {
  /** The transcript of a login under the default settings, which every other one must equal. */
  let expected: Promise<string[]> | undefined;

  async function expectSame(connection: TestConnection, logins: Logins): Promise<void> {
    expected ??= (async () => {
      await using plain = await cloneDatabase(inject("server"));
      const plainLogins = await createLogins(plain);
      return await transcript(await plain.connect(plainLogins.caller.url), plainLogins);
    })();
    expect(await transcript(connection, logins)).toEqual(await expected);
  }

  test("in two runs under the default settings, and every function has a sample", async ({ db }) => {
    const logins = await createLogins(db);
    await expectSame(await db.connect(logins.caller.url), logins);
    const called = new Set((await expected)?.map((text) => text.split(" ")[0]));
    expect(functions.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([]);
  });

  test.for(Object.entries(hostile))("when the session has %s", async ([, settings], { db }) => {
    const logins = await createLogins(db);
    const connection = await db.connect(logins.caller.url);
    for (const [name, value] of Object.entries(settings))
      await connection.query("select set_config($1, $2, false)", [name, value]);
    await expectSame(connection, logins);
  });

  test("when the role has all settings at once", async ({ db }) => {
    const logins = await createLogins(db);
    for (const settings of Object.values(hostile))
      for (const [name, value] of Object.entries(settings))
        await db.query(`alter role ${logins.caller.role} set ${name} = '${value}'`);
    await expectSame(await db.connect(logins.caller.url), logins);
  });

  test("when the connection is opened with other settings", async ({ db }) => {
    const logins = await createLogins(db);
    const url = new URL(logins.caller.url);
    url.searchParams.set(
      "options",
      "-c timezone=UTC-5 -c datestyle=SQL,DMY -c standard_conforming_strings=off",
    );
    await expectSame(await db.connect(url.href), logins);
  });
});
