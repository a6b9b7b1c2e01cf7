import type { JSX } from "preact";
import css from "./Bar.module.css";

interface BarProps {
  readonly part: number;
  readonly all: number;
  readonly label: string;
  /** A full bar is a problem, such as a limit that is used up. */
  readonly warns?: boolean;
}

/** A share as a bar and in words. */
export function Bar({ part, all, label, warns = false }: BarProps): JSX.Element {
  const share = all <= 0 ? 0 : Math.min(1, part / all);
  const tone = !warns || share < 0.8 ? "" : share < 1 ? css["warn"] : css["bad"];
  return (
    <span class={`${css["bar"]} ${tone}`}>
      <svg aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none">
        <rect width={share * 100} height="8" />
      </svg>
      {label}
    </span>
  );
}
