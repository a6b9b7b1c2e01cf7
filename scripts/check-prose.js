/**
 * Checks the English and the layout of comments and documentation, and prints `file:line: message` for each problem:
 * phrases that the house style replaces by plainer ones, lines of prose over 120 characters, and TypeScript files whose
 * header is not a doc comment. Part of `npm run lint` and `npm test`. A line that contains `prose-ok` is not checked.
 * Plain JavaScript without dependencies, like everything in this folder.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const maxLength = 120;

/** "answers" as a verb. As a noun, as in "the answers the server gave", it is allowed. */
const answersAsVerb = new RegExp(
  [
    /(?:^|[.:] )answers (?!(?:are|were|is|have|must|may|can|to|that|of|from)\b)\S+/,
    /\b(?:and|that|which|it|call|function|kernel|server) answers\b/,
    /(?<!\b(?:the|its|their|our|all|both|these|those|no|of|for|other|many|more) )\banswers (?:an?|the|with|null|undefined|true|false|what|how|whether|when|only|nothing|every|each|all|no|its|their|it|them)\b/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

/** Phrases to avoid, and what to write instead. They are searched in prose only, never in code. */
const phrases = [
  [answersAsVerb, 'write "returns", "resolves to" or "responds"'],
  [/\bcomes? back\b/i, 'write "returns", "resolves" or "is available again"'],
  [/\bso many\b(?![^.]*\bthat\b)/i, 'write "up to N" or name the number'],
  [/(?<!\bthere )\b(?:is|are|was|were) none\b(?! of\b)/i, 'write "is invalid" or "is missing"'],
  [
    /(?<!\bthere )\b(?:is|are|was|were) no (?:time|date|json|number|integer|uuid|url|module|span|job|type|object|array|list|text|string|function|error)\b(?! (?:that|which|left|to)\b)/i,
    'write "is not a ..."',
  ],
  [/\bwhoever\b/i, 'name it: "the caller", "a client", "the worker"'],
  [/\b(?:some|no|every|any)body\b/i, 'name it: "another process", "no client", "every worker"'],
  [/\b(?:him|her)self\b/i, 'write "itself" or name the program'],
  [/\b(?:to|from|with) who\b/i, 'write "to a caller that"'],
  [/\bdear(?:er|est|ly)?\b/i, 'write "costly"'],
  [/\bbeside\b/i, 'write "besides", "in addition to" or "next to"'],
  [/\bany more\b(?=\s*[.,;:)]|\s*$)/i, 'write "no longer"'],
  [/\bto be had\b/i, 'write "available"'],
  [/\btold\b/i, 'write "logged", "returned", "reported" or "notified"'],
  [/\bhas no notion of\b/i, 'write "does not support" or "does not know"'],
  [/\bupkeep\b|\bhousekeeping\b/i, 'write "maintenance"'],
  [
    /\b(?:an|the|each|every|one|per|this) exchange\b(?! (?:rate|of)\b)/i,
    'write "settle" or "settle and claim"',
  ],
  [/\bears\b/i, 'write "notifications"'],
  [/\ba courtesy\b/i, 'write "best effort"'],
  [/\bborne\b/i, 'write "retried" or "tolerated"'],
  [/\bsigns? of life\b/i, 'write "heartbeat"'],
].map(([pattern, advice]) => [new RegExp(pattern, `${pattern.flags}g`), advice]);

/** How to find the prose of a file. `embedded`: also in SQL of template strings, and in some literals. */
const languages = {
  ".ts": { line: ["//"], block: true, embedded: true },
  ".tsx": { line: ["//"], block: true, embedded: true },
  ".js": { line: ["//"], block: true, embedded: true },
  ".go": { line: ["//"], block: true },
  ".sql": { line: ["--"], block: true },
  ".py": { line: ["#"], docstrings: true },
  ".yaml": { line: ["#"] },
  ".yml": { line: ["#"] },
};

/** Titles of tests and messages of errors, if they are a literal on the same line as the call. */
const literals =
  /(?:(?<![.\w])(?:test|it|describe|new \w*Error)(?:\.\w+(?:\([^()]*\))?)*|\]\))\(\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`)/g;

/** Comments that a tool reads cannot be wrapped. */
const directive = /biome-ignore|@ts-|eslint-|<reference /;

/**
 * Returns the problems of a file, sorted by line. `path` decides the language.
 * @param {string} path
 * @param {string} text
 * @returns {{ line: number, message: string }[]}
 */
export function findProblems(path, text) {
  const lines = text.split(/\r?\n/);
  const language = languages[extname(path)];
  const problems = language === undefined ? markdownProblems(lines) : codeProblems(lines, language);
  if (/\.tsx?$/.test(path)) problems.push(...headerProblems(lines));
  return problems
    .filter(({ line }) => !lines[line - 1].includes("prose-ok"))
    .sort((a, b) => a.line - b.line || a.message.localeCompare(b.message));
}

function codeProblems(lines, language) {
  const problems = [];
  const blocks = new Blocks();
  let end;
  for (const [n, line] of lines.entries()) {
    const text = line.trim();
    const isInside = end !== undefined;
    if (!isInside) end = openingOf(text, language);
    const isComment = isInside || end !== undefined || language.line.some((mark) => text.startsWith(mark));
    if (isComment || (language.embedded && /^-- \w/.test(text))) {
      blocks.add(
        n,
        text.replace(/^(?:\{?\/\*+|\*\/|\*|\/\/+|--+|#+|""")\s?/, "").replace(/\s*\*\/\}?$|"""$/, ""),
      );
      if (line.length > maxLength && !directive.test(text) && !isMostlyLinks(line)) {
        problems.push({
          line: n + 1,
          message: `comment line of ${line.length} characters; at most ${maxLength}`,
        });
      }
    } else {
      for (const [, ...found] of language.embedded ? line.matchAll(literals) : []) {
        blocks.add(
          n,
          found.find((literal) => literal !== undefined),
        );
        blocks.close();
      }
      blocks.close();
    }
    // A block comment or docstring may open and close in the same line.
    if (end !== undefined && (isInside ? text : text.slice(3)).includes(end)) end = undefined;
  }
  return [...problems, ...blocks.problems()];
}

/** Returns the text that closes the comment which a line opens, or undefined if the line opens none. */
function openingOf(text, { block, docstrings }) {
  if (block && /^\{?\/\*/.test(text)) return "*/";
  return docstrings && text.startsWith('"""') ? '"""' : undefined;
}

function markdownProblems(lines) {
  const problems = [];
  const blocks = new Blocks();
  let fence;
  for (const [n, line] of lines.entries()) {
    const text = line.trim();
    const mark = /^(?:```+|~~~+)/.exec(text)?.[0];
    if (fence === undefined ? mark !== undefined : text === fence) {
      fence = fence === undefined ? mark : undefined;
      blocks.close();
      continue;
    }
    if (fence !== undefined) continue;
    const isProse = !/^(?:\||#|<|!\[|\[[^\]]+\]:)/.test(text);
    // Each list item, table row or heading is separate from the text around it.
    if (!isProse || text === "" || /^(?:[-*+]|\d+\.) /.test(text)) blocks.close();
    blocks.add(n, text);
    if (!isProse) blocks.close();
    if (isProse && line.length > maxLength && !isMostlyLinks(line)) {
      problems.push({ line: n + 1, message: `line of ${line.length} characters; at most ${maxLength}` });
    }
  }
  return [...problems, ...blocks.problems()];
}

function headerProblems(lines) {
  const first = lines.findIndex((line) => !line.startsWith("#!"));
  const line = lines[first] ?? "";
  if (!line.startsWith("//") || directive.test(line)) return [];
  return [{ line: first + 1, message: "the header of a file must be a /** */ comment" }];
}

/** True for a line that is short enough without its URLs, which cannot be wrapped. */
function isMostlyLinks(line) {
  return (
    line.replaceAll(/\]\([^)]*\)|https?:\/\/\S+/g, "").length <= maxLength && /\]\(|https?:\/\//.test(line)
  );
}

/** Joins consecutive lines of prose, so that a phrase is also found across a line break. */
class Blocks {
  #blocks = [];
  #isOpen = false;

  add(line, text) {
    if (!this.#isOpen) this.#blocks.push([]);
    this.#isOpen = true;
    // Code spans, quotations and URLs are not our prose.
    const prose = text.replaceAll(/`[^`]*`|"[^"]*"|https?:\/\/\S+|\]\([^)]*\)/g, "_");
    this.#blocks.at(-1).push({ line, text: prose });
  }

  close() {
    this.#isOpen = false;
  }

  problems() {
    return this.#blocks.flatMap((lines) => {
      const text = lines.map((each) => each.text).join(" ");
      return phrases.flatMap(([pattern, advice]) =>
        [...text.matchAll(pattern)].map(({ 0: found, index }) => {
          let rest = index;
          const at = lines.find((each) => {
            rest -= each.text.length + 1;
            return rest < 0;
          });
          return { line: (at ?? lines[0]).line + 1, message: `"${found}": ${advice}` };
        }),
      );
    });
  }
}

/**
 * Lists the files that git tracks or would add. Without git, lists all files of the checkout. Generated files repeat
 * prose that is checked where it is written.
 */
function listFiles() {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 };
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", args, options);
  const files = status === 0 ? stdout.split("\0") : walk(root);
  return files.filter(
    (file) =>
      (languages[extname(file)] || file.endsWith(".md")) &&
      !file.endsWith(".generated.ts") &&
      existsSync(join(root, file)),
  );
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [relative(root, path).split(sep).join("/")];
    return entry.isDirectory() && !/^(?:\..*|node_modules|dist)$/.test(entry.name) ? walk(path) : [];
  });
}

/** Checks the files whose path begins with one of the arguments, or all files. */
function main(only) {
  const isChosen = (file) => only.length === 0 || only.some((prefix) => file.startsWith(prefix));
  const files = listFiles().filter(isChosen);
  let count = 0;
  for (const file of files) {
    for (const { line, message } of findProblems(file, readFileSync(join(root, file), "utf8"))) {
      console.log(`${file}:${line}: ${message}`);
      count += 1;
    }
  }
  console.log(`Checked the prose of ${files.length} files. ${count === 0 ? "No" : count} problems found.`);
  process.exitCode = count > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
