/**
 * The filter of a list of jobs. One object is the address of the page, the request of the list, and the filter of a
 * bulk change, so these three cannot differ.
 */

/** The states of the tabs. */
export const states = ["queued", "running", "succeeded", "failed", "dead", "canceled"] as const;
export type State = (typeof states)[number];

/** The filters with one text each: the name in the address and in the filter bar, and the name in the API. */
const texts = {
  subject: "subject",
  error: "error_contains",
  group: "error_group",
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

/** The filter as the API takes it. */
export type ApiFilter = Record<string, string | readonly string[]>;

export function apiFilterOf({ state, type, tag, text }: JobFilter): ApiFilter {
  const filter: ApiFilter = {};
  if (state.length > 0) filter["status"] = state;
  if (type.length > 0) filter["type"] = type;
  if (tag.length > 0) filter["tags"] = tag;
  for (const name of textNames) {
    const value = text[name];
    if (value !== undefined) filter[texts[name]] = value;
  }
  return filter;
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

/** Splits what the user typed. Quotes hold words together: `error:"connection refused"`. */
export function termsOf(input: string): Term[] {
  const found = input.matchAll(/(?:([a-z_]+):)?(?:"([^"]*)"|(\S+))/g);
  return [...found].flatMap(([, name, quoted, plain]) => {
    const value = quoted ?? plain ?? "";
    if (value === "") return [];
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
  return { ...filter, text: { ...filter.text, [name]: value } };
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
