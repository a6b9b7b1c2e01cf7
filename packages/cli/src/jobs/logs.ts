/** What a job's handler logged, as text. */
import type { JobLog, LogLevel, LogLine } from "@jobforge/sdk-ts";
import type { Output } from "../output/output.ts";
import type { Tone } from "../output/style.ts";
import { plain } from "../output/terminal.ts";

const tones: Readonly<Record<LogLevel, Tone | undefined>> = {
  debug: "dim",
  info: undefined,
  warn: "yellow",
  error: "red",
};

/** The logs of all attempts, each under a heading. Nothing if none is kept. */
export function logLines(logs: readonly JobLog[], output: Output): string {
  return logs.map((log) => `\n${headingOf(log, output)}\n${linesOf(log, output)}`).join("");
}

function headingOf({ attemptNo, dropped }: JobLog, { style }: Output): string {
  const before = dropped === 0 ? "" : ` (${dropped} earlier ${dropped === 1 ? "line" : "lines"} not kept)`;
  return `${style("bold", `log of attempt ${attemptNo}`)}${before}`;
}

function linesOf({ lines }: JobLog, { style }: Output): string {
  const text = (line: LogLine): string => {
    const tone = tones[line.level];
    const level = tone === undefined ? line.level : style(tone, line.level);
    const time = style("dim", line.at.toISOString().slice(11, 23));
    const fields = line.fields === undefined ? "" : ` ${style("dim", plain(JSON.stringify(line.fields)))}`;
    return `  ${time} ${level.padEnd(level.length + 5 - line.level.length)} ${plain(line.message)}${fields}\n`;
  };
  return lines.map(text).join("");
}
