/** Tests of jobforge sync, and of the options of workers about it. */
import { describe, expect } from "vitest";
import { startJobforge } from "./child.ts";
import { type Folder, projectFolder } from "./files.ts";
import { json, run, test } from "./support.ts";

const charge = (attempts: number): string => `
import { defineJob } from "@jobforge/sdk-ts";
export const charge = defineJob({ type: "charge.card", retry: { maxAttempts: ${attempts} }, redact: ["pin"] })
  .handle(() => null);
`;
const project = (): Promise<Folder> => projectFolder({ "handlers/charge.js": charge(1) });

describe("jobforge sync", () => {
  test("writes definitions to policies, says what it changed, and respects operators and versions", async ({
    db,
  }) => {
    await using folder = await project();
    const handlers = `${folder.path}/handlers`;
    const sync = async (...options: string[]): Promise<string> =>
      (await run(["sync", handlers, ...options], { DATABASE_URL: db.url })).stdout;
    const changes = '  maxAttempts: 5 → 1\n  redact: [] → ["pin"]\n';
    expect(await sync("--dry-run")).toBe(`charge.card: would be created\n${changes}`);
    expect(await db.value("select jobforge_get_policy('charge.card') ->> 'type'")).toBe("*");
    expect(await sync("--app-version", "1")).toBe(`charge.card: created\n${changes}`);
    expect(await sync("--app-version", "1")).toBe("charge.card: unchanged\n");
    await db.query(`select jobforge_set_policy('charge.card', '{"max_attempts": 2}')`);
    expect(await sync("--app-version", "2")).toBe(
      "charge.card: unchanged\n  maxAttempts: stays 2, set by hand; the definition says 1 (see --force)\n",
    );
    expect(await sync("--app-version", "1")).toContain("stays 2, from the newer version 2;");
    const env = { DATABASE_URL: db.url, JOBFORGE_APP_VERSION: "1" };
    expect((await run(["sync", handlers, "--force", "--types", "charge.card"], env)).stdout).toBe(
      "charge.card: changed\n  maxAttempts: 2 → 1\n",
    );
    expect(await json(["sync", handlers], db.url)).toMatchObject({
      items: [{ type: "charge.card", action: "unchanged", version: "1" }],
    });
  });

  test("needs an operator, unless nothing would change", async ({ db }) => {
    await using folder = await project();
    const { url } = await db.createLogin("jobforge_worker");
    const sync = async (...options: string[]) =>
      await run(["sync", `${folder.path}/handlers`, ...options], { DATABASE_URL: url });
    expect(await sync()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("jobforge_operator") });
    expect(await sync("--dry-run")).toMatchObject({ exitCode: 0 });
  });
});

describe("jobforge worker", () => {
  test.for([
    { options: ["--app-version", "7"], policy: "charge.card", version: "7" },
    { options: ["--no-sync"], policy: "*", version: null },
  ])(
    "writes the definitions at start, unless --no-sync is given: $options",
    async ({ options, policy, version }, { db }) => {
      await using folder = await project();
      const worker = startJobforge(["worker", "handlers", ...options, "--json"], {
        cwd: folder.path,
        env: { DATABASE_URL: db.url },
      });
      const id = await db.value<string>(
        "select jobforge_enqueue_job('11111111-1111-4111-8111-111111111111', 'charge.card') ->> 'id'",
      );
      // The worker claims after it has synced.
      while ((await db.value("select status from jobforge_jobs where id = $1", [id])) !== "succeeded")
        await db.query("select pg_sleep(0.05)");
      expect(await db.value("select jobforge_get_policy('charge.card') ->> 'type'")).toBe(policy);
      expect(await db.value("select max(version) from jobforge.declarations")).toBe(version);
      worker.process.kill("SIGTERM");
      expect(await worker.ended).toMatchObject({ code: 0 });
    },
  );
});
