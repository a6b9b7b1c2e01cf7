/**
 * The filter of a list of jobs. One object is the address of the page, the request of the list, and the filter of a
 * bulk change, so these three cannot differ.
 */

import { type Exact, isObject, parseExact, writeExact } from "./json.ts";

/** The states of the tabs. */
export const states = ["queued", "running", "succeeded", "failed", "dead", "canceled"] as const;
export type State = (typeof states)[number];

/** The filters with one text each: the name in the address and in the filter bar, and the name in the API. */
const texts = {
  subject: "subject",
  error: "error_contains",
  group: "error_group",
  phase: "phase",
  id: "id_prefix",
  worker: "worker",
  schedule: "schedule_id",
  key: "idempotency_key",
  concurrency: "concurrency_key",
  trace: "trace_id",
  reason: "reason",
  priority: "priority",
  attempts: "attempts_min",
  payload: "payload",
  created_after: "created_after",
  created_before: "created_before",
  finished_after: "finished_after",
  finished_before: "finished_before",
} as const;

export type TextName = keyof typeof texts;
export const textNames = Object.keys(texts) as readonly TextName[];

export interface JobFilter {
  readonly state: readonly State[];
  readonly type: readonly string[];
  readonly tag: readonly string[];
  readonly text: Readonly<Partial<Record<TextName, string>>>;
}

export const noFilter: JobFilter = { state: [], type: [], tag: [], text: {} };

export function isEmpty({ type, tag, text }: JobFilter): boolean {
  return type.length === 0 && tag.length === 0 && Object.keys(text).length === 0;
}

/** Reads the filter from an address. Names and values that are not known are ignored. */
export function readFilter(search: string): JobFilter {
  const params = new URLSearchParams(search);
  const text: Partial<Record<TextName, string>> = {};
  for (const name of textNames) {
    const value = params.get(name);
    if (value !== null && value !== "") text[name] = value;
  }
  const given = params.getAll("status");
  return {
    state: states.filter((each) => given.includes(each)),
    type: params.getAll("type").filter(Boolean),
    tag: params.getAll("tag").filter(Boolean),
    text,
  };
}

/** The parameters of the address of a filter. */
export function paramsOf({ state, type, tag, text }: JobFilter): Record<string, string | readonly string[]> {
  return { status: state, type, tag, ...text };
}

/** The filter as the API takes it in a body. */
export type ApiFilter = Readonly<Record<string, unknown>>;

export function apiFilterOf({ state, type, tag, text }: JobFilter): ApiFilter {
  const filter: Record<string, unknown> = {};
  if (state.length > 0) filter["status"] = state;
  if (type.length > 0) filter["type"] = type;
  if (tag.length > 0) filter["tags"] = tag;
  for (const name of textNames) {
    const value = text[name];
    if (value !== undefined) filter[texts[name]] = typed(name, value);
  }
  return filter;
}

/** A body has numbers and JSON where an address has texts. What is neither stays a text, which the server refuses. */
function typed(name: TextName, value: string): unknown {
  if (name !== "priority" && name !== "attempts" && name !== "payload") return value;
  return exactOr(value, value);
}

/** A text as JSON, with all digits of its numbers. */
function exactOr(text: string, otherwise: Exact): Exact {
  try {
    return parseExact(text);
  } catch {
    return otherwise;
  }
}

/** The same filter as parameters of an address. */
export function queryOf(filter: ApiFilter): Record<string, string | readonly string[]> {
  const entries = Object.entries(filter).map(([name, value]): [string, string | readonly string[]] => [
    name,
    typeof value === "string" || Array.isArray(value) ? value : writeExact(value as Exact),
  ]);
  return Object.fromEntries(entries);
}

export type Order = "created" | "oldest" | "run_at" | "started_at" | "finished_at";

/** What waits is read from its oldest job on, what runs from the longest run on, what ended from the last end back. */
export function orderOf({ state, text }: JobFilter): Order {
  const [first] = state;
  if (text.phase === "scheduled") return "run_at";
  if (text.phase !== undefined) return "oldest";
  if (first === undefined) return "created";
  if (state.length === 1 && first === "queued") return "oldest";
  if (state.length === 1 && first === "running") return "started_at";
  return state.some((each) => each === "queued" || each === "running") ? "created" : "finished_at";
}

/** One word of the filter bar, such as `type:mail.send`, or a free text, which is searched in errors. */
export interface Term {
  readonly name: "type" | "tag" | "status" | "tenant" | TextName;
  readonly value: string;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return uuid.test(text.trim());
}

export const termNames: readonly Term["name"][] = ["type", "tag", "status", "tenant", ...textNames];
/** `payload.order.id:7` is the payload `{"order": {"id": 7}}`. */
const payloadPath = /^payload\.([^\s:]+)$/;

/** Splits what the user typed. Quotes hold words together: `error:"connection refused"`. */
export function termsOf(input: string): Term[] {
  const found = input.matchAll(/(?:(payload\.[^\s:]+|[a-z_]+):)?(?:"([^"]*)"|(\S+))/g);
  return [...found].flatMap(([, name, quoted, plain]) => {
    const value = quoted ?? plain ?? "";
    if (value === "") return [];
    const path = payloadPath.exec(name ?? "")?.[1];
    if (path !== undefined) {
      const leaf = quoted ?? exactOr(value, value);
      const payload = path.split(".").reduceRight<Exact>((inner, key) => ({ [key]: inner }), leaf);
      return [{ name: "payload" as const, value: writeExact(payload) }];
    }
    const known = termNames.find((each) => each === name);
    if (known !== undefined) return [{ name: known, value }];
    const whole = name === undefined ? value : `${name}:${value}`;
    return [{ name: "error" as const, value: whole }];
  });
}

/** Adds a term. Types and tags collect, any other term replaces its old value. */
export function withTerm(filter: JobFilter, { name, value }: Term): JobFilter {
  if (name === "type" || name === "tag") return { ...filter, [name]: [...new Set([...filter[name], value])] };
  if (name === "status") return { ...filter, state: states.filter((each) => each === value) };
  if (name === "tenant") return filter;
  const before = name === "payload" ? filter.text.payload : undefined;
  const next = before === undefined ? value : mergedPayload(before, value);
  return { ...filter, text: { ...filter.text, [name]: next } };
}

/** Two words about the payload ask for both. */
function mergedPayload(one: string, other: string): string {
  const [first, second] = [exactOr(one, null), exactOr(other, null)];
  return isObject(first) && isObject(second) ? writeExact({ ...first, ...second }) : other;
}

/** The terms of a filter, without its states, which the tabs show. */
export function termsIn({ type, tag, text }: JobFilter): Term[] {
  return [
    ...type.map((value): Term => ({ name: "type", value })),
    ...tag.map((value): Term => ({ name: "tag", value })),
    ...textNames.flatMap((name): Term[] => (text[name] === undefined ? [] : [{ name, value: text[name] }])),
  ];
}

export function withoutTerm(filter: JobFilter, { name, value }: Term): JobFilter {
  if (name === "type" || name === "tag")
    return { ...filter, [name]: filter[name].filter((each) => each !== value) };
  if (name === "status" || name === "tenant") return filter;
  const { [name]: _removed, ...text } = filter.text;
  return { ...filter, text };
}
