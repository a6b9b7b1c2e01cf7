/** The error of an attempt as workers report it: a name, a message, a stack and causes. */
import { type Exact, field, isObject } from "./json.ts";

export interface ErrorText {
  readonly title: string;
  /** The stack and those of the causes, or undefined if there is nothing more than the title. */
  readonly trace: string | undefined;
}

const mostCauses = 10;

export function errorText(error: Exact | undefined): ErrorText | undefined {
  if (error === null || error === undefined) return undefined;
  if (!isObject(error)) return { title: typeof error === "string" ? error : String(error), trace: undefined };
  const message =
    textOf(error, "fullMessage") ?? textOf(error, "message") ?? textOf(error, "code") ?? "no message";
  const lines: string[] = [];
  let cause: Exact | undefined = error;
  for (let depth = 0; isObject(cause) && depth < mostCauses; depth += 1) {
    const name: string = textOf(cause, "name") ?? "Error";
    const own: string = textOf(cause, "stack") ?? `${name}: ${textOf(cause, "message") ?? ""}`;
    lines.push(depth === 0 ? own : `Caused by: ${own}`);
    cause = field(cause, "cause");
  }
  const trace = lines.join("\n");
  return { title: message, trace: trace.includes("\n") ? trace : undefined };
}

function textOf(value: Exact, key: string): string | undefined {
  const found = field(value, key);
  return typeof found === "string" && found !== "" ? found : undefined;
}
