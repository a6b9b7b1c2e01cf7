/** JSON with every digit of its numbers. Objects and lists fold; long ones begin folded. */
import type { JSX } from "preact";
import { type Exact, isArray, isNumber, isObject, writeExact } from "../lib/json.ts";
import { CopyButton } from "./Copy.tsx";
import css from "./Json.module.css";

const openDepth = 3;
const openEntries = 40;

export function Json({ value, what }: { value: Exact; what: string }): JSX.Element {
  return (
    <div class={css["json"]}>
      <div class={css["copy"]}>
        <CopyButton text={writeExact(value, 2)} what={what} />
      </div>
      <Value value={value} depth={0} after="" />
    </div>
  );
}

/** `after` is the comma between this value and the next. It belongs to the line of the closing bracket. */
function Value({ value, depth, after }: { value: Exact; depth: number; after: string }): JSX.Element {
  if (isArray(value)) {
    const entries = value.map((each) => [undefined, each] as const);
    return <Fold open="[" close={`]${after}`} depth={depth} entries={entries} />;
  }
  if (isObject(value))
    return <Fold open="{" close={`}${after}`} depth={depth} entries={Object.entries(value)} />;
  const [kind, text] = isNumber(value)
    ? ["number", value.toString()]
    : typeof value === "string"
      ? ["string", JSON.stringify(value)]
      : ["word", String(value)];
  return (
    <>
      <span class={css[kind]}>{text}</span>
      {after}
    </>
  );
}

interface FoldProps {
  readonly open: string;
  readonly close: string;
  readonly depth: number;
  readonly entries: readonly (readonly [string | undefined, Exact])[];
}

function Fold({ open, close, depth, entries }: FoldProps): JSX.Element {
  if (entries.length === 0) return <span>{open + close}</span>;
  return (
    <details open={depth < openDepth && entries.length <= openEntries} class={css["fold"]}>
      <summary>
        {open}
        <span class={css["size"]}>
          {" "}
          {entries.length} … {close}
        </span>
      </summary>
      <div class={css["entries"]}>
        {entries.map(([key, value], index) => (
          <div key={index}>
            {key !== undefined && <span class={css["key"]}>{JSON.stringify(key)}: </span>}
            <Value value={value} depth={depth + 1} after={index < entries.length - 1 ? "," : ""} />
          </div>
        ))}
      </div>
      <span>{close}</span>
    </details>
  );
}
