/** Line charts and bar charts as SVG, without a library. They are readable on light and dark backgrounds. */

export interface Series {
  readonly name: string;
  /** One value for each step; undefined for a step that was not measured. */
  readonly values: readonly (number | undefined)[];
}

export interface LineChart {
  readonly title: string;
  /** For example "jobs a second". */
  readonly unit: string;
  /** The title of the horizontal axis, for example "worker processes". */
  readonly across: string;
  readonly steps: readonly string[];
  readonly series: readonly Series[];
}

export interface BarChart {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly { readonly name: string; readonly value: number }[];
}

const width = 760;
const colors = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"];
const ink = "#6b7280";
const plot = { left: 80, right: 200, top: 50, bottom: 60 };

/** The smallest round number that is not below a value: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}

export function lineChart({ title, unit, across, steps, series }: LineChart): string {
  const height = 380;
  const top = roundUp(Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const right = width - plot.right;
  const floor = height - plot.bottom;
  const x = (step: number): number =>
    plot.left + (right - plot.left) * (steps.length === 1 ? 0.5 : step / (steps.length - 1));
  const y = (value: number): number => floor - ((floor - plot.top) * value) / top;
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    line(plot.left, y(top * share), right, y(top * share), share === 0 ? 1 : 0.25),
    text(plot.left - 8, y(top * share) + 4, plain(top * share), "end"),
  ]);
  const marks = steps.map((step, n) => text(x(n), floor + 20, step, "middle"));
  const drawn = series.flatMap(({ name, values }, n) => {
    const color = colors[n % colors.length] ?? ink;
    const points = values.flatMap((value, step) =>
      value === undefined ? [] : [{ x: x(step), y: y(value), value }],
    );
    const path = points.map((point) => `${coordinate(point.x)},${coordinate(point.y)}`).join(" ");
    const legend = plot.top + 10 + n * 22;
    return [
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...points.map(
        (point) =>
          `<circle cx="${coordinate(point.x)}" cy="${coordinate(point.y)}" r="4" fill="${color}"><title>${escaped(name)}: ${plain(point.value)}</title></circle>`,
      ),
      `<rect x="${right + 20}" y="${legend - 9}" width="12" height="12" fill="${color}"/>`,
      text(right + 38, legend + 2, name, "start"),
    ];
  });
  return picture(title, unit, height, [
    ...grid,
    ...marks,
    text((plot.left + right) / 2, floor + 44, across, "middle"),
    ...drawn,
  ]);
}

/** Bars are horizontal, to leave room for their names. The bar of JobForge is highlighted. */
export function barChart({ title, unit, bars }: BarChart): string {
  const step = 30;
  const left = 190;
  const height = plot.top + bars.length * step + 20;
  const most = Math.max(0, ...bars.map(({ value }) => value)) || 1;
  const room = width - left - 100;
  const drawn = bars.flatMap(({ name, value }, n) => {
    const y = plot.top + n * step;
    const length = (room * value) / most;
    const color = name === "jobforge" ? (colors[0] ?? ink) : "#9ca3af";
    return [
      text(left - 10, y + 17, name, "end"),
      `<rect x="${left}" y="${y + 3}" width="${coordinate(Math.max(1, length))}" height="${step - 10}" fill="${color}"/>`,
      text(left + length + 8, y + 17, plain(value), "start"),
    ];
  });
  return picture(title, unit, height, drawn);
}

function picture(title: string, unit: string, height: number, inside: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="13" fill="${ink}">`,
    `<text x="20" y="22" font-size="16" font-weight="600">${escaped(title)}</text>`,
    text(20, 40, unit, "start"),
    ...inside,
    "</svg>",
    "",
  ].join("\n");
}

function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end"): string {
  return `<text x="${coordinate(x)}" y="${coordinate(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function line(x1: number, y1: number, x2: number, y2: number, opacity: number): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map(coordinate);
  return `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke="${ink}" stroke-opacity="${opacity}"/>`;
}

function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function plain(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : 0 });
}

function escaped(content: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return content.replace(/[&<>"]/g, (character) => names[character] ?? character);
}
