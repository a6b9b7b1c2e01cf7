/** A line without axes, as wide as a word, for comparing the rows of a table. */
import type { JSX } from "preact";
import css from "./Spark.module.css";

interface SparkProps {
  /** Null where nothing was measured. */
  readonly values: readonly (number | null)[];
  /** What the line says, for readers who do not see it. */
  readonly label: string;
}

const width = 96;
const height = 20;

export function Spark({ values, label }: SparkProps): JSX.Element {
  return (
    <span class={css["spark"]} title={label}>
      <svg aria-hidden="true" viewBox={`0 -1 ${width} ${height + 2}`} width={width} height={height}>
        <path d={pathOf(values)} />
      </svg>
      <span class="visually-hidden">{label}</span>
    </span>
  );
}

/** The line begins again after a gap. Its highest point is that of the largest value. */
function pathOf(values: readonly (number | null)[]): string {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const step = width / Math.max(1, values.length - 1);
  return values
    .map((value, index) => {
      if (value === null) return "";
      const isFirst = index === 0 || values[index - 1] === null;
      const y = height - (value / most) * height;
      return `${isFirst ? "M" : "L"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}
