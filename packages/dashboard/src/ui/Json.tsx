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
      <Value value={value} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { value: Exact; depth: number }): JSX.Element {
  if (isArray(value))
    return (
      <Fold open="[" close="]" depth={depth} entries={value.map((each) => [undefined, each] as const)} />
    );
  if (isObject(value)) return <Fold open="{" close="}" depth={depth} entries={Object.entries(value)} />;
  if (isNumber(value)) return <span class={css["number"]}>{value.toString()}</span>;
  if (typeof value === "string") return <span class={css["string"]}>{JSON.stringify(value)}</span>;
  return <span class={css["word"]}>{String(value)}</span>;
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
            <Value value={value} depth={depth + 1} />
            {index < entries.length - 1 && ","}
          </div>
        ))}
      </div>
      <span>{close}</span>
    </details>
  );
}
