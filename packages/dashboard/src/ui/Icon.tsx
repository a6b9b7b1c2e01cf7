/** Icons of ours, drawn on a grid of 16. They repeat a word next to them, so assistive technology skips them. */
import type { JSX } from "preact";

const paths = {
  overview: "M2.5 9.5h4v4h-4zM9.5 7h4v6.5h-4zM2.5 2.5h4V7h-4zM9.5 2.5h4v2h-4z",
  jobs: "M2.5 4h1M5.5 4h8M2.5 8h1M5.5 8h8M2.5 12h1M5.5 12h8",
  types: "M8 2 14 5.2 8 8.4 2 5.2zM2.4 8.2 8 11.2l5.6-3M2.4 11 8 14l5.6-3",
  workflows: "M2 5.5h3.5v5H2zM10.5 2H14v4h-3.5zM10.5 10H14v4h-3.5zM5.5 8H8M10.5 4H8v8h2.5",
  dead: "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.3",
  schedules: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6",
  webhooks: "M2 8h7M6.5 5.5 9 8l-2.5 2.5M11.8 10.7a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4z",
  tenants:
    "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM1.8 13.2c.3-2.4 2-3.7 4.2-3.7s3.9 1.3 4.2 3.7M10.5 3.2a2.2 2.2 0 0 1 0 4.1M12 9.9c1.3.5 2.1 1.6 2.3 3.3",
  controls:
    "M2.5 4.5h6M12 4.5h1.5M2.5 11.5H4M7.5 11.5h6M10.2 6.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM5.7 13.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4z",
  usage: "M2.5 13.5h11M4 11V8M7 11V4.5M10 11V7M13 11V3",
  workers:
    "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  audit: "M4 2.5h6L12.5 5v8.5H4zM9.5 2.5V5.5h3M6 8h4.5M6 10.5h4.5",
  keys: "M6 12.5a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8.2 8 13.5 2.7M11.2 5l1.8 1.8",
  settings:
    "M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM10.7 10.7 14 14",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  save: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  run: "M5 3.2v9.6L12.5 8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  cancel: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.8 3.8l8.4 8.4",
  trash: "M3 4.5h10M6.5 4.5V2.5h3v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4",
  edit: "M3 13l.6-2.6 7.3-7.3 2 2-7.3 7.3z",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5 7.5 13a2.8 2.8 0 0 1-4-4L5 7.5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  auto: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.2c.2-1 .9-1.5 1.8-1.5 1 0 1.8.7 1.8 1.6 0 1.4-1.9 1.5-1.9 2.9M8 11.3v.2",
  chevron: "M6 3.5 10.5 8 6 12.5",
  up: "M8 13V3M4 7l4-4 4 4",
  out: "M9.5 2.5h4v11h-4M2.5 8h7M6.5 5 9.5 8l-3 3",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6L13 6M13 2.5V6H9.5",
  plus: "M8 3v10M3 8h10",
  bell: "M4 11.5V7a4 4 0 0 1 8 0v4.5l1 1H3zM6.7 14h2.6",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width={name === "more" ? 2.4 : 1.4}
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  );
}
