/** The text of parts of a JSON document. JSON.parse rounds numbers, but payloads must keep all their digits. */

/** JSON that goes to the database as it was written. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object as JSON text, in which `names` are as the client wrote them in `json`, the text that was parsed. */
export function withTexts(parsed: object, json: string, names: readonly string[]): JsonText {
  const members = Object.entries(parsed)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = names.includes(name) ? memberOf(json, name)?.text : undefined;
      return `${JSON.stringify(name)}:${text ?? JSON.stringify(value)}`;
    });
  return new JsonText(`{${members.join()}}`);
}

/**
 * The text of a member of a JSON object; undefined if there is none. Of several members with one name the last one
 * counts, as for JSON.parse. The text must be valid JSON.
 */
export function memberOf(json: string, name: string): JsonText | undefined {
  let found: JsonText | undefined;
  for (const part of partsOf(json)) if (part.name === name) found = new JsonText(part.text);
  return found;
}

/** The texts of the elements of a JSON array, which must be valid JSON. */
export function elementsOf(json: string): string[] {
  return [...partsOf(json)].map(({ text }) => text).filter((text) => text.trim() !== "");
}

/** Whether JSON.parse may round a number of a JSON text: one with many digits or an exponent. */
export function mayRound(json: string): boolean {
  return /[\d.]{16}|\d[eE][-+\d]/.test(json);
}

interface Part {
  /** Elements of arrays have no name. */
  readonly name: string | undefined;
  readonly text: string;
}

/** The members of a JSON object, or the elements of an array, as they are written. */
function* partsOf(json: string): Generator<Part> {
  let isArray = false;
  let name: string | undefined;
  let start = -1;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') {
      const from = at;
      at = endOfString(json, at);
      if (depth === 1 && start < 0) name = JSON.parse(json.slice(from, at + 1)) as string;
    } else if (char === "{" || char === "[") {
      depth += 1;
      if (depth > 1) continue;
      isArray = char === "[";
      start = isArray ? at + 1 : -1;
    } else if (char === "}" || char === "]") {
      depth -= 1;
      if (depth === 0 && start >= 0) yield { name, text: json.slice(start, at) };
    } else if (depth === 1 && char === ":") start = at + 1;
    else if (depth === 1 && char === ",") {
      yield { name, text: json.slice(start, at) };
      start = isArray ? at + 1 : -1;
    }
  }
}

/** Where the string that begins at `from` has its closing quote. */
function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at;
}
