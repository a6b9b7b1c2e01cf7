/** A chart of bars as SVG, which mail programs and printers show without scripts. */
import { escapeHtml } from "./escape.ts";

export interface Bar {
  readonly label: string;
  readonly value: number;
}

const [labelWidth, barWidth, rowHeight] = [220, 400, 22];

/** Returns an empty text if there is nothing to draw. Values that are not positive numbers have no bar. */
export function barChart(bars: readonly Bar[]): string {
  if (bars.length === 0) return "";
  const values = bars.map(({ value }) => (Number.isFinite(value) && value > 0 ? value : 0));
  const greatest = Math.max(...values, 1);
  const rows = bars.map(({ label }, index) => {
    const value = values[index] ?? 0;
    const y = index * rowHeight;
    const width = Math.round((value / greatest) * barWidth);
    const text = escapeHtml(label.length > 32 ? `${label.slice(0, 31)}…` : label);
    return (
      `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${text}</text>` +
      `<rect x="${labelWidth}" y="${y + 3}" width="${width}" height="${rowHeight - 6}" fill="#3b6fb6"/>` +
      `<text x="${labelWidth + width + 6}" y="${y + 15}">${value}</text>`
    );
  });
  const [width, height] = [labelWidth + barWidth + 80, bars.length * rowHeight];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `font-family="sans-serif" font-size="12">${rows.join("")}</svg>`
  );
}
