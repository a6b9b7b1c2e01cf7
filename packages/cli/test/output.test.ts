/** Tests of the form of output: time spans, times, tables, colours. */
import { describe, expect, test } from "vitest";
import { UsageError } from "../src/failures.ts";
import { jsonLogger } from "../src/handlers/log.ts";
import { styleFor } from "../src/output/style.ts";
import { type Column, table } from "../src/output/table.ts";
import { plain, shownOn } from "../src/output/terminal.ts";
import { ago, choice, readSpan, readTime, span, wholeNumber } from "../src/output/values.ts";

describe("time spans", () => {
  test.for([
    [0, "0ms"],
    [350, "350ms"],
    [1000, "1s"],
    [90_000, "1m 30s"],
    [3_600_000, "1h"],
    [3_599_999, "1h"],
    [90_061_000, "1d 1h"],
    [86_400_000 * 400, "400d"],
  ] as const)("%d ms are %s", ([ms, text]) => {
    expect(span(ms)).toBe(text);
  });

  test("are parsed", () => {
    expect(["90s", "15m", "2h", "7d", "1.5h", "250ms"].map(readSpan)).toEqual([
      90_000, 900_000, 7_200_000, 604_800_000, 5_400_000, 250,
    ]);
    for (const wrong of ["", "90", "s", "1 hour", "-5m", "1h30m"])
      expect(() => readSpan(wrong), wrong).toThrow(UsageError);
  });

  test("are relative to now, ahead or back", () => {
    const now = Date.now();
    expect(readTime("2h", "ahead").getTime() - now).toBeGreaterThanOrEqual(7_200_000);
    expect(readTime("2h", "back").getTime() - now).toBeLessThan(-7_190_000);
    expect(readTime("2026-01-31T12:00:00Z", "ahead").toISOString()).toBe("2026-01-31T12:00:00.000Z");
    for (const wrong of ["tomorrow", "12:00", "2026-13-01T00:00:00Z"])
      expect(() => readTime(wrong, "ahead"), wrong).toThrow(UsageError);
  });

  test("show how long ago a time was", () => {
    expect(ago(new Date(0), 61_000)).toBe("1m 1s ago");
    expect(ago(new Date(61_000), 0)).toBe("in 1m 1s");
    expect(ago(new Date(500), 0)).toBe("now");
    expect(ago(undefined)).toBe("");
  });
});

test("whole numbers have a range", () => {
  expect(wholeNumber("--priority", { min: -10, max: 10 })("-3")).toBe(-3);
  for (const wrong of ["11", "1.5", "x", "", "1e3"])
    expect(() => wholeNumber("--limit", { min: 1, max: 10 })(wrong), wrong).toThrow(
      "--limit must be a whole number from 1 to 10",
    );
});

test("words are listed as a choice", () => {
  expect(choice(["skip", "replace", "debounce"])).toBe("skip, replace or debounce");
});

describe("colours", () => {
  const coloured = (env: Record<string, string>, isTTY: boolean): boolean =>
    styleFor({ write: () => undefined, isTTY }, env)("red", "x") !== "x";

  test("are for terminals", () => {
    expect([coloured({}, true), coloured({}, false), coloured({ TERM: "dumb" }, true)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("are off with NO_COLOR, and on with FORCE_COLOR", () => {
    expect(coloured({ NO_COLOR: "1" }, true)).toBe(false);
    expect(coloured({ NO_COLOR: "1", FORCE_COLOR: "1" }, true)).toBe(false);
    expect(coloured({ NO_COLOR: "" }, true)).toBe(true);
    expect(coloured({ FORCE_COLOR: "1" }, false)).toBe(true);
    expect(coloured({ FORCE_COLOR: "0" }, false)).toBe(false);
  });
});

describe("tables", () => {
  const columns: readonly Column<{ name: string; jobs: number }>[] = [
    { title: "name", value: (row) => row.name, shrinks: true },
    { title: "jobs", value: (row) => row.jobs, align: "right" },
  ];
  const style = (_: unknown, text: string): string => text;

  test("align their columns", () => {
    const rows = [
      { name: "mail.send", jobs: 5 },
      { name: "x", jobs: 1200 },
    ];
    expect(table(columns, rows, { style, width: undefined })).toBe(
      ["name       jobs", "mail.send     5", "x          1200", ""].join("\n"),
    );
  });

  test("become narrower in a narrow terminal", () => {
    const text = table(columns, [{ name: "a.very.long.type.of.job", jobs: 5 }], { style, width: 20 });
    expect(text.split("\n")[1]).toBe("a.very.long.t…     5");
  });

  test("cut ids and errors first, at the start or the end, and leave out empty columns", () => {
    const wide: readonly Column<{ id: string; type: string; error: string }>[] = [
      { title: "id", value: ({ id }) => id, shrinks: "first", cut: "start" },
      { title: "type", value: ({ type }) => type, shrinks: true },
      { title: "wait", value: () => "1m 30s", shrinks: "away" },
      { title: "empty", value: () => "", shrinks: "first" },
      { title: "error", value: ({ error }) => error, shrinks: "first" },
    ];
    const row = { id: "0123456789abcdef", type: "report.build", error: "Timeout after 20 ms" };
    const line = (width: number): string | undefined => table(wide, [row], { style, width }).split("\n")[1];
    expect(line(80)).toBe("0123456789abcdef  report.build  1m 30s         Timeout after 20 ms");
    expect(line(50)).toBe("0123456789abcdef  report.build  1m 30s  Timeout a…");
    expect(line(40)).toBe("…9abcdef  report.build  1m 30s  Timeout…");
    expect(line(34)).toBe("…9abcdef  report.build  Timeout a…");
    expect(line(30)).toBe("0123456789abcdef  report.build");
    expect(line(20)).toBe("report.build");
    expect(line(6)).toBe("repor…");
  });

  test("leave out other columns before a text is cut below its least width, and give it their room", () => {
    const wide: readonly Column<{ error: string }>[] = [
      { title: "id", value: () => "0123456789abcdef" },
      { title: "when", value: () => "1m 30s ago", shrinks: "away" },
      { title: "subject", value: () => "a long subject", shrinks: "away", least: 8 },
      { title: "error", value: ({ error }) => error, shrinks: "first", least: 12 },
    ];
    const row = { error: "Timeout after 20 ms" };
    const line = (width: number): string | undefined => table(wide, [row], { style, width }).split("\n")[1];
    expect(line(80)).toBe("0123456789abcdef  1m 30s ago  a long subject  Timeout after 20 ms");
    expect(line(54)).toBe("0123456789abcdef  1m 30s ago  a long su…  Timeout aft…");
    expect(line(50)).toBe("0123456789abcdef  1m 30s ago  Timeout after 20 ms");
    expect(line(35)).toBe("0123456789abcdef  Timeout after 20…");
    expect(line(28)).toBe("0123456789abcdef  Timeout a…");
    expect(line(20)).toBe("0123456789abcdef");
  });

  test("contain no control characters that could manipulate the terminal", () => {
    expect(plain("a\u001b[2Jb\nc\rd\u0007")).toBe("ab c d ");
  });

  test("and texts keep their lines and JobForge's own colours, in a terminal only", () => {
    const red = styleFor({ write: () => undefined, isTTY: true }, {})("red", "x");
    const text = `${red}\n\u001b]0;title\u0007\u009b31m\u001b[8mhidden\u202e\ty\n`;
    const shown = shownOn({ write: () => undefined, isTTY: true }, text);
    expect(shown).toBe(`${red}\nhidden \ty\n`);
    expect(shownOn({ write: () => undefined }, text)).toBe(text);
  });
});

test("the log of a worker has no control characters in a terminal, and is unchanged in a file", () => {
  const attack = "a\u009b31m\u202eb\u001b[2J";
  const logged = (isTTY: boolean): string => {
    const written: string[] = [];
    const stream = { isTTY, write: (text: string) => void written.push(text) };
    jsonLogger(stream, {}).warn({ job_id: null, error: attack }, attack);
    return written.join("");
  };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
  expect(logged(true)).not.toMatch(/[\u001b\u009b\u202e]/);
  expect(JSON.parse(logged(true))).toMatchObject({ level: "warn", message: expect.stringMatching(/^a.*b/) });
  expect(JSON.parse(logged(false))).toMatchObject({ error: attack, message: attack });
});
