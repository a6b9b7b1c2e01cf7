/** What operators and tenants do on the pages, to the end: the database says whether it happened. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../../../test/browser.ts";
import { openScene, operator, type Scene, violations } from "./support/scene.ts";
import { tenants } from "./support/seed.ts";

const patience = { timeout: 180_000 };
const acme = { role: "jobforge_app", tenant_id: tenants.acme, email: "grace@acme.example" };

describe.skipIf(!hasBrowser)("in a browser", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  }, 180_000);
  afterAll(() => scene?.[Symbol.asyncDispose]());

  test(
    "a dead group is found, run again and seen to succeed, with the keyboard alone",
    patience,
    async () => {
      const { db } = scene;
      for (const tenant of [tenants.acme, tenants.globex])
        await db.query("select jobforge_enqueue_job($1, 'printer.print', p_max_attempts => 1)", [tenant]);
      await db.query(
        `select jobforge_complete_job(id, 'w', 'failed', '{"message": "out of paper"}')
       from jobforge_claim_jobs('w', 10, array['printer.print'])`,
      );
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      const keys = page.keyboard;
      await opened.visit("/");
      await keys.press("g");
      await keys.press("d");
      const group = page.getByRole("link", { name: "out of paper" });
      await group.waitFor();
      // Down to the row, whatever else failed before it.
      for (let row = 0; row < 20; row += 1) {
        await keys.press("j");
        if (await group.evaluate((link) => link === document.activeElement)) break;
      }
      await keys.press("r");
      await page.getByRole("dialog").getByRole("button", { name: "Run 2 jobs" }).waitFor();
      while (
        !(await page
          .getByRole("button", { name: "Run 2 jobs" })
          .evaluate((each) => each === document.activeElement))
      )
        await keys.press("Tab");
      await keys.press("Enter");
      await page.getByText("Queued 2 jobs").waitFor();
      await db.query(
        "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 10, array['printer.print'])",
      );
      await keys.press("Control+k");
      await keys.type("jobs of printer.print");
      await keys.press("Enter");
      await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
      await expect.poll(() => page.locator("main tbody").getByText("succeeded").count()).toBe(2);
      await keys.press("j");
      await keys.press("Enter");
      await page.getByRole("heading", { name: "How it ended" }).waitFor();
      await page.getByRole("list", { name: "Timeline" }).waitFor();
      await keys.press("]");
      await page.getByRole("heading", { name: "How it ended" }).waitFor();
      expect(opened.complaints).toEqual([]);
    },
  );

  test("help lists the keys, letters can be switched off, and fields take letters", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/jobs");
    await page.keyboard.press("?");
    await page
      .getByRole("dialog", { name: "Keys" })
      .getByText("Palette: pages, jobs, types, actions")
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("type:mail.send gd");
    expect(await page.getByRole("combobox", { name: "Filter jobs" }).inputValue()).toBe("type:mail.send gd");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("e");
    await page.getByLabel("Single-letter keys").selectOption("off");
    await page.getByRole("heading", { name: "Settings" }).focus();
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Go to" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`${scene.prefix}/settings`);
  });

  test("Enter in the palette waits for the types that are still asked for", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    let pressed = (): void => {};
    const isPressed = new Promise<void>((resolve) => {
      pressed = resolve;
    });
    await page.route("**/v1/types*", async (route) => {
      await isPressed;
      await route.continue();
    });
    await opened.visit("/audit");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("jobs of mail.send");
    await page.getByText("Loading types and tenants").waitFor();
    await page.keyboard.press("Enter");
    pressed();
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get("type")).toBe("mail.send");
    expect(opened.complaints).toEqual([]);
  });

  test(
    "a sentence in the palette pauses a type for a time and a reason, and is undone",
    patience,
    async () => {
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit("/");
      await page.keyboard.press("Control+k");
      await page.keyboard.type("pause invoice.render 30m the printer burns");
      await page
        .getByRole("option", { name: /Pause the type invoice.render for 30m, because the printer burns/ })
        .waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("Paused the type invoice.render").first().waitFor();
      const gate = await scene.db.value<{ reason: string; minutes: number }>(
        `select jsonb_build_object('reason', reason, 'minutes', round(extract(epoch from until - now()) / 60))
       from jobforge_list_gates() where key = 'invoice.render'`,
      );
      expect(gate).toEqual({ reason: "the printer burns", minutes: 30 });
      await page.getByRole("button", { name: "Undo" }).click();
      await expect
        .poll(() =>
          scene.db.value<number>(
            "select count(*)::int from jobforge_list_gates() where key = 'invoice.render'",
          ),
        )
        .toBe(0);
      expect(opened.complaints).toEqual([]);
    },
  );

  test(
    "a tenant creates a schedule with a preview, and changes it with exact numbers",
    patience,
    async () => {
      await using opened = await scene.open({ as: acme });
      const { page } = opened;
      await opened.visit("/schedules");
      await page.getByRole("button", { name: "Create a schedule" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Type of the jobs").fill("report.build");
      await dialog.getByLabel("Name of the schedule").fill("nightly / all");
      await dialog.getByLabel("Time zone").fill("America/New_York");
      await dialog.getByLabel("Cron expression").fill("30 2 * * *");
      await expect.poll(() => dialog.getByText(/ 02:30 GMT/).count()).toBeGreaterThan(3);
      expect(await violations(page)).toEqual([]);
      await dialog.getByLabel("Payload").fill('{"account": 9007199254740993}');
      await dialog.getByRole("button", { name: "Create the schedule" }).click();
      await page.getByRole("heading", { name: "report.build · nightly / all" }).waitFor();
      await page.locator("main").getByText("9007199254740993").waitFor();
      await page.getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("It runs").selectOption("every");
      await dialog.getByLabel("How long after").fill("2h");
      await dialog.getByRole("button", { name: "Change the schedule" }).click();
      await page.getByText("every 2h").waitFor();
      const row = await scene.db.value<object>(
        `select jsonb_build_object('every', every, 'payload', payload::text, 'cron', cron)
       from jobforge_schedules where key = 'nightly / all'`,
      );
      expect(row).toEqual({ every: "02:00:00", payload: '{"account": 9007199254740993}', cron: null });
      expect(opened.complaints).toEqual([]);
    },
  );

  test("a copy of a job is edited and run, with all digits of its payload", patience, async () => {
    const { id } = await scene.db.value<{ id: string }>(
      `select jobforge_enqueue_job($1, 'ledger.copy', '{"account": 9007199254740997, "note": "first"}')`,
      [tenants.initech],
    );
    await scene.db.query(
      "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 1, array['ledger.copy'])",
    );
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit(`/jobs/${id}?of=${tenants.initech}`);
    await page.keyboard.press("e");
    const field = page.getByRole("textbox", { name: "Payload" });
    await field.fill("{");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await field.fill('{"account": 9007199254740999, "note": "second"}');
    await page.getByRole("button", { name: "Enqueue the copy" }).click();
    await page.getByText("The copy is queued").waitFor();
    await page.locator("main").getByText("9007199254740999").waitFor();
    const payloads = await scene.db.query(
      "select payload::text from jobforge_jobs where type = 'ledger.copy' order by id",
    );
    expect(payloads.map(({ payload }) => payload)).toEqual([
      '{"note": "first", "account": 9007199254740997}',
      '{"note": "second", "account": 9007199254740999}',
    ]);
    expect(opened.complaints).toEqual([]);
  });

  test("a failed job is compared with the last success of its type", patience, async () => {
    const run = async (payload: string, ends: string): Promise<string> => {
      const { id } = await scene.db.value<{ id: string }>(
        "select jobforge_enqueue_job($1, 'compare.me', $2, p_max_attempts => 1)",
        [tenants.acme, payload],
      );
      await scene.db.query(
        "select jobforge_complete_job(id, 'w', $1) from jobforge_claim_jobs('w', 1, array['compare.me'])",
        [ends],
      );
      return id;
    };
    await run('{"to": "ada", "size": 9007199254740992}', "succeeded");
    const dead = await run('{"to": "bob", "size": 9007199254740993}', "failed");
    await using opened = await scene.open({ as: operator });
    await opened.visit(`/jobs/${dead}?of=${tenants.acme}`);
    await opened.page.getByRole("button", { name: "Compare with the last success" }).click();
    const rows = opened.page.getByRole("table", { name: "Differences of the payloads" }).getByRole("row");
    await expect.poll(() => rows.count()).toBe(3);
    expect((await rows.allTextContents()).join(" ")).toMatch(/9007199254740993.*9007199254740992/);
    expect(opened.complaints).toEqual([]);
  });

  test(
    "the page of tenants compares shares, and leads to one that is paused and resumed",
    patience,
    async () => {
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit("/tenants");
      await page.getByRole("img", { name: /^Weight: Acme 50 %, Globex 25 %/ }).waitFor();
      await page.getByRole("img", { name: /^Runs: Acme \d/ }).waitFor();
      await page.getByRole("link", { name: "Globex", exact: true }).click();
      await page.getByRole("heading", { name: "Globex", level: 1 }).waitFor();
      const pause = page.getByRole("button", { name: "Pause", exact: true });
      await pause.click();
      await page.getByLabel("Reason").fill("unpaid");
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /^Pause/ })
        .click();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByText("Resumed Globex").waitFor();
      await pause.waitFor();
      expect(opened.complaints).toEqual([]);
    },
  );

  test(
    "a job can be enqueued from the page of its type, which shows its limits and errors",
    patience,
    async () => {
      await using opened = await scene.open({ as: operator });
      const { page } = opened;
      await opened.visit(`/types/webhook.deliver?tenant=${tenants.acme}`);
      await page.getByRole("region", { name: "Its limits" }).getByText("2 at once").waitFor();
      await page.getByRole("region", { name: "Errors" }).waitFor();
      await page.getByRole("button", { name: "Enqueue a job" }).click();
      await page.getByRole("dialog").getByLabel("Payload").fill('{"event": "by.hand"}');
      await page.getByRole("button", { name: "Enqueue the job" }).click();
      await page.getByText("The job is queued").waitFor();
      await page.locator("main").getByText("by.hand").waitFor();
      expect(opened.complaints).toEqual([]);
    },
  );

  test("filters find jobs by payload and by worker, in the address, and go back", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/jobs");
    await page.keyboard.press("/");
    await page.keyboard.type("payload.account:9007199254740993");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "ledger.sync" }).first().waitFor();
    await expect.poll(() => page.locator("main tbody tr").count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("payload")).toBe('{"account":9007199254740993}');
    await page.reload();
    await page.getByRole("link", { name: "ledger.sync" }).first().waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "mail.send" }).first().waitFor();
    await opened.visit("/workers");
    await page.getByRole("link", { name: "See them" }).first().click();
    await page.getByText("running", { exact: true }).first().waitFor();
    expect(page.url()).toContain("worker=mailer-1");
    expect(opened.complaints).toEqual([]);
  });

  test("each chart shows the same numbers as a table", patience, async () => {
    await using opened = await scene.open({ as: operator });
    const { page } = opened;
    await opened.visit("/");
    const buttons = page.getByRole("button", { name: "Show as table" });
    await expect.poll(() => buttons.count()).toBe(3);
    for (let chart = 0; chart < 3; chart += 1) await buttons.nth(chart).click();
    for (const name of [
      "Jobs that are due and run",
      "Runs that ended, per minute",
      "How long jobs wait and run",
    ]) {
      const rows = page.getByRole("table", { name }).getByRole("row");
      await expect.poll(() => rows.count()).toBeGreaterThan(5);
    }
    expect(await page.locator("canvas").count()).toBe(0);
    // Clicks have scrolled the page, and the bar at the top would cover a row.
    await page.evaluate("scrollTo(0, 0)");
    expect(await violations(page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});
