/** `connector.report.generate`: safe to open, whatever the rows contain, and of any size. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import cases from "../../../../conformance/connectors.json" with { type: "json" };
import { type ArtifactStore, defineReport, fileStore, reportGenerate } from "../../src/index.ts";
import { otherTenant, runner, T, test } from "../support/run.ts";

async function store(): Promise<ArtifactStore> {
  const folder = await mkdtemp(join(tmpdir(), "jobforge-artifacts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return fileStore(folder);
}

async function read(artifacts: ArtifactStore, ref: unknown): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await artifacts.get(String(ref))) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const evil = `<script>alert("1")</script>`;

test("rows of the payload become CSV, HTML and JSON that are safe to open", async ({ forge }) => {
  const { job, result } = await runner(forge).run(reportGenerate, {
    rows: [
      { name: "=cmd()", n: -5, link: "javascript:alert(1)" },
      { name: evil, n: 2, link: "https://example.com/?a=1&b=2" },
      { name: 'a "quote", and\na line', n: 3, link: "\n=1" },
    ],
    columns: [
      { key: "name", title: "+Name" },
      { key: "n", type: "number" },
      { key: "link", type: "url" },
    ],
    format: ["csv", "html", "json"],
    options: { title: evil, chart: { label: "name", value: "n" } },
  });
  expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
  expect(result["report_csv"]).toBe(
    `'+Name,n,link\r\n'=cmd(),-5,javascript:alert(1)\r\n"${evil.replaceAll('"', '""')}",2,https://example.com/?a=1&b=2\r\n` +
      `"a ""quote"", and\na line",3,"'\n'=1"\r\n`,
  );
  const html = String(result["report_html"]);
  expect(html).not.toContain("<script");
  expect(html).toContain("&lt;script&gt;");
  expect(html).not.toContain('href="javascript');
  expect(html).toContain('<a href="https://example.com/?a=1&amp;b=2"');
  expect(html).toContain("<svg");
  expect(JSON.parse(String(result["report_json"]))).toMatchObject({ title: evil, count: 3 });
  expect(result).toMatchObject({ rows: 3, truncated: false });
});

test("no cell of a CSV is a formula, also where semicolons separate cells", async ({ forge }) => {
  const rows = cases.csv_cells.map(([value = null]) => ({ value }));
  const { result } = await runner(forge).run(reportGenerate, { rows, format: "csv" });
  expect(result["report_csv"]).toBe(`value\r\n${cases.csv_cells.map(([, cell]) => `${cell}\r\n`).join("")}`);
  const { result: raw } = await runner(forge).run(reportGenerate, {
    rows: [{ value: "=1" }, { value: "a;=1" }],
    format: "csv",
    options: { raw: true },
  });
  expect(raw["report_csv"]).toBe("value\r\n=1\r\na;=1\r\n");
});

test("every built-in report is written in every format, with values that are escaped", async ({ forge }) => {
  const { run } = runner(forge);
  await run(reportGenerate, { report_type: "no-such-report" });
  await forge.installation.maintain();
  const title = `${evil} & 'more'`;
  for (const report_type of ["usage-summary", "tenant-usage", "job-analytics", "dead-letters"]) {
    const format = ["json", "html", "csv"] as const;
    const { job, result } = await run(reportGenerate, {
      report_type,
      format: [...format],
      options: { title },
    });
    expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
    const formats = format.map((each) => ({ format: each }));
    expect(result, report_type).toMatchObject({ report_type, rows: 1, formats });
    expect(JSON.parse(String(result["report_json"]))).toMatchObject({ title, count: 1 });
    expect(result["report_html"]).toContain(
      "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;",
    );
    expect(result["report_html"]).not.toContain("<script");
    expect(String(result["report_csv"]).split("\r\n")).toHaveLength(3);
  }
});

test("a parameter that the database refuses is a mistake of the payload", async ({ forge }) => {
  const { run } = runner(forge);
  for (const params of [{ timezone: "Mars/Base" }, { from: "2026-02-01", to: "2026-01-01" }, { until: 1 }]) {
    const { job, error } = await run(reportGenerate, { report_type: "usage-summary", params });
    expect([job.status, error.details?.["code"]], JSON.stringify(error)).toEqual([
      "failed",
      "invalid_payload",
    ]);
  }
});

test("rows of the payload replace those of a report, also under their older name", async ({ forge }) => {
  const { run } = runner(forge);
  const format = ["json", "html", "csv"] as const;
  for (const [given, rows] of [
    [
      {
        rows: [
          { user: evil, n: 1 },
          { user: 'a "b"', n: 2 },
        ],
      },
      2,
    ],
    [
      {
        inputs_data: [
          { user: evil, n: 1 },
          { user: 'a "b"', n: 2 },
        ],
      },
      2,
    ],
    [{ inputs_data: { user: evil, n: 1 } }, 1],
  ] as const) {
    const payload = { report_type: "usage-summary", format: [...format], ...given };
    const { job, result } = await run(reportGenerate, payload as never);
    expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
    expect(result).toMatchObject({ rows, metadata: { title: "Usage by type" } });
    expect(JSON.parse(String(result["report_json"])).rows[0]).toEqual({ user: evil, n: 1 });
    expect(result["report_html"]).toContain("&lt;script&gt;");
    expect(result["report_html"]).not.toContain("<script");
    expect(result["report_csv"]).toMatch(/^n,user\r\n1,"<script>alert\(""1""\)<\/script>"\r\n/);
  }
  const unknown = await run(reportGenerate, { report_type: "no-such-report", rows: [{ a: 1 }] });
  expect([unknown.job.status, unknown.error.details]).toEqual(["failed", { code: "invalid_payload" }]);
  expect(unknown.error.message).toContain("Known reports: usage-summary, tenant-usage, job-analytics");
});

test("a large report of code goes to the artifacts, with progress and a limit", async ({ forge }) => {
  const artifacts = await store();
  const numbers = defineReport({
    name: "numbers",
    columns: [{ key: "n", type: "number" }, { key: "at", type: "date" }, { key: "more" }],
    *rows({ params }) {
      for (let n = 1; n <= Number(params["count"]); n += 1)
        yield { n, at: new Date(0), more: { ok: true, text: "x".repeat(20) } };
    },
  });
  const { job, result } = await runner(forge, { artifacts, reports: [numbers] }).run(reportGenerate, {
    report_type: "numbers",
    params: { count: 12_000 },
    format: ["csv", "json"],
    options: { limit: 11_000 },
  });
  expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
  expect(result).toMatchObject({ rows: 11_000, truncated: true });
  expect(result).not.toHaveProperty("report_csv");
  const [csv, json] = result["formats"] as { ref: string; bytes: number; sha256: string }[];
  const text = await read(artifacts, csv?.ref);
  expect(Buffer.byteLength(text)).toBe(csv?.bytes);
  expect(text.split("\r\n")).toHaveLength(11_002);
  expect(text.split("\r\n")[1]).toBe(
    `1,1970-01-01T00:00:00.000Z,"{""ok"":true,""text"":""${"x".repeat(20)}""}"`,
  );
  expect(JSON.parse(await read(artifacts, json?.ref))).toMatchObject({ count: 11_000 });
  expect(result["artifact_ref"]).toBe(`artifact:reports/${T}/${job.id}/numbers.csv`);
});

test("numbers of a driver that JSON does not have are texts in it, and numbers in a CSV", async ({
  forge,
}) => {
  const large = defineReport({
    name: "large",
    columns: [{ key: "n", type: "number" }, { key: "more" }],
    rows: () => [{ n: -9007199254740993n, more: { n: 1n } }],
  });
  const { job, result } = await runner(forge, { reports: [large] }).run(reportGenerate, {
    report_type: "large",
    format: ["csv", "html", "json"],
  });
  expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
  expect(result["report_csv"]).toBe(`n,more\r\n-9007199254740993,"{""n"":""1""}"\r\n`);
  expect(JSON.parse(String(result["report_json"]))).toMatchObject({
    rows: [{ n: "-9007199254740993", more: { n: "1" } }],
  });
});

test("rows come from an artifact of the tenant, and from no other tenant's", async ({ forge }) => {
  const artifacts = await store();
  const content = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from('{"a":1}\n{"a":');
    yield Buffer.from('"two"}\n');
  };
  const { ref } = await artifacts.put(`uploads/${T}/import/rows.jsonl`, content(), {
    contentType: "application/jsonl",
  });
  const { run } = runner(forge, { artifacts });
  const own = await run(reportGenerate, { inputs_ref: ref, format: "csv" });
  expect(own.result["report_csv"]).toBe("a\r\n1\r\ntwo\r\n");
  for (const inputs_ref of [ref, "artifact:../../etc/passwd", `artifact:uploads/${otherTenant}/../${T}`]) {
    const foreign = await run(reportGenerate, { inputs_ref }, { tenantId: otherTenant });
    expect(foreign.job.status).toBe("failed");
    expect(foreign.error.details).toEqual({ code: "artifact_unavailable" });
  }
});

test("a line of an artifact that does not end, or is not an object, fails the report", async ({ forge }) => {
  const artifacts = await store();
  const contentOf = async function* (text: string, times: number): AsyncGenerator<Buffer> {
    for (let n = 0; n < times; n += 1) yield Buffer.from(text);
  };
  const { run } = runner(forge, { artifacts });
  for (const [name, text, times, message] of [
    ["endless", "x".repeat(65_536), 400, "has a line over 1048576 bytes"],
    ["broken", '{"a":1}\r\n\n{"a":', 1, "Line 3 of the artifact is not a JSON object"],
    ["list", "[1]\n", 1, "Line 1 of the artifact is not a JSON object"],
  ] as const) {
    const { ref } = await artifacts.put(`uploads/${T}/import/${name}`, contentOf(text, times), {
      contentType: "application/jsonl",
    });
    const { job, error } = await run(reportGenerate, { inputs_ref: ref });
    expect([job.status, error.message], name).toEqual(["failed", expect.stringContaining(message)]);
  }
});

test("the built-in reports show the tenant's own usage and dead jobs", async ({ forge }) => {
  const { run } = runner(forge);
  await run(reportGenerate, { report_type: "no-such-report" });
  await run(reportGenerate, { report_type: "no-such-report" }, { tenantId: otherTenant });
  // Maintenance adds up what runs have used.
  await forge.installation.maintain();
  const usage = await run(reportGenerate, { report_type: "usage-summary", format: "csv" });
  expect(usage.result["report_csv"]).toContain("connector.report.generate,1,0,1,1,");
  const dead = await run(reportGenerate, { report_type: "dead-letters", format: ["csv", "html"] });
  expect(dead.result["report_csv"]).toContain("There is no report no-such-report.");
  expect(dead.result["rows"]).toBe(1);
  const daily = await run(reportGenerate, { report_type: "job-analytics" });
  expect(daily.job.status, JSON.stringify(daily.job.error)).toBe("succeeded");
});
