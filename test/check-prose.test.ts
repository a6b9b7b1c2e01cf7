/** Tests the linter of comments and documentation. */
import { describe, expect, test } from "vitest";
import { findProblems } from "../scripts/check-prose.js";

const long = "word ".repeat(25).trim();

/** The lines and phrases of all problems, such as "2 somebody". */
function found(path: string, text: string): string[] {
  return findProblems(path, text).map(({ line, message }) => {
    const [, phrase] = /^"(.*)": /.exec(message) ?? [];
    return `${line} ${phrase ?? message.split(" ", 2).join(" ")}`;
  });
}

describe("a phrase is found in", () => {
  test.each([
    ["a doc comment", "a.ts", "/** Answers a handle. */"],
    ["a block comment", "a.ts", "/**\n * One.\n * Answers the handle.\n */"],
    ["a line comment", "a.ts", "f();\n  // Nobody listens.\nf();"],
    ["a JSX comment", "a.tsx", "<p>\n  {/* so many jobs */}\n</p>"],
    ["SQL in a template string", "a.ts", "const text = `\n-- Whoever asks.\n`;"],
    ["the title of a test", "a.ts", 'test("a job comes back", () => {});'], // prose-ok
    ["the title of a conditional test", "a.ts", 'test.skipIf(x)("nobody waits", f);'], // prose-ok
    ["the title of a table of tests", "a.ts", '  ])("nobody waits for %s", f);'], // prose-ok
    ["the message of an error", "a.js", "throw new RangeError(`it is no number`);"], // prose-ok
    ["Go", "a.go", "// together answers what went wrong"],
    ["a comment in Python", "a.py", "x = 1\n# Somebody waits."],
    ["a docstring", "a.py", '"""One.\n\nEverybody waits.\n"""\nx = 1'],
    ["SQL", "a.sql", "-- It is told to stop.\nselect 1;"],
    ["YAML", "a.yaml", "a: 1\n# Not to be had here."],
    ["Markdown", "a.md", "# Title\n\nIt is dear."],
    ["a table", "a.md", "| Option | Jobs beside it |"],
    ["a heading", "a.md", "## Housekeeping"],
  ])("%s", (_, path, text) => {
    expect(findProblems(path, text)).toHaveLength(1);
  });

  test("two lines, and is reported for the first", () => {
    expect(found("a.ts", "f();\n// It comes\n// back later.")).toEqual(["2 comes back"]);
    expect(found("a.md", "One.\nIt comes\nback later.")).toEqual(["2 comes back"]);
  });
});

test.each([
  "Answers how many there are.",
  "Sends a request and answers undefined.",
  "A call that answers rows.",
  "At most so many at once.",
  "A date that is none.",
  "The text is no JSON.",
  "A client looks for himself.",
  "Reveals nothing to who does not hold the key.",
  "It does not run any more.",
  "Each exchange claims jobs.",
  "A courtesy to others.",
  "It is borne for a minute.",
  "Workers have ears.",
])("%s", (text) => {
  expect(findProblems("a.md", text)).toHaveLength(1);
});

test.each([
  "Compares the answers the server gave.",
  "The server does not answer.",
  "There are so many of them that a scan is slow.",
  "There is none. If there is no job, it waits. None of them is none of the others.",
  "It does not accept any more jobs.",
  "Besides, it is fast. The exchange rate is fixed.",
  "A caller must not use `somebody` or [this page](told.md) or https://example.com/nobody.",
  'Write "costly", not "dear".',
  "It is no longer needed. There was no time.",
  "The next job is a type that no policy names.",
])("sensible English is accepted: %s", (text) => {
  expect(findProblems("a.md", text)).toEqual([]);
});

describe("is not searched for phrases:", () => {
  test.each([
    ["code", "a.ts", 'const nobody = "told";\n--nobody;\nif (/a/.test("nobody")) return;'],
    ["a template string", "a.ts", "const somebody = `\n  nobody told\n`;"],
    ["SQL statements", "a.sql", "select 'nobody';"],
    ["code after a docstring", "a.py", '"""One."""\nnobody = 1\n"""\nTwo.\n"""\ntold = 1'],
    ["code after a comment", "a.ts", "/* One */\nnobody();\n/**\n * Two.\n */\ntold();"],
    ["YAML", "a.yml", "user: nobody"],
    ["a fenced block", "a.md", "```sh\nnobody\n```\n\n~~~\ntold\n~~~"],
    ["a line with the escape", "a.ts", "// Runs as nobody. prose-ok"],
  ])("%s", (_, path, text) => {
    expect(findProblems(path, text)).toEqual([]);
  });
});

describe("a long line", () => {
  test.each([
    ["a.ts", `f();\n// ${long}`],
    ["a.ts", `/**\n * ${long}\n */`],
    ["a.sql", `-- ${long}`],
    ["a.py", `"""\n${long}\n"""`],
    ["a.md", `- ${long}`],
    ["a.md", `${long} [link](https://example.com)`],
  ])("of prose is reported: %s %j", (path, text) => {
    expect(findProblems(path, text)).toHaveLength(1);
  });

  test.each([
    ["a.ts", `const text = "${long}";`],
    ["a.ts", `// biome-ignore lint/style/x: ${long}`],
    ["a.ts", `f();\n// See https://example.com/${"x".repeat(120)}.`],
    ["a.md", `| ${long} |`],
    ["a.md", `## ${long}`],
    ["a.md", `<img alt="${long}">`],
    ["a.md", `\`\`\`\n${long}\n\`\`\``],
    ["a.md", `See [this page](${"x".repeat(120)}).`],
    ["a.md", `[1]: https://example.com/${"x".repeat(120)}`],
    ["a.md", long.slice(0, 120)],
  ])("of anything else is accepted: %s %j", (path, text) => {
    expect(findProblems(path, text)).toEqual([]);
  });
});

test("a TypeScript file must not open with a line comment", () => {
  expect(found("a.ts", "// What it does.\nexport {};")).toEqual(["1 the header"]);
  expect(found("a.tsx", "#!/usr/bin/env node\n// What it does.")).toEqual(["2 the header"]);
  for (const first of [
    "/** What it does. */",
    "import x from 'x';\n// Inside.",
    "// @ts-check",
    "// biome-ignore-all x",
  ]) {
    expect(findProblems("a.ts", first)).toEqual([]);
  }
  expect(findProblems("a.js", "// What it does.")).toEqual([]);
});

test("problems are sorted by line", () => {
  expect(found("a.md", `nobody\n\n${long} told`)).toEqual(["1 nobody", "3 told", "3 line of"]);
});
