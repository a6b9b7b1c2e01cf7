/** Keeps data from manipulating a terminal: types, keys and errors of jobs are written by others. */
import { inspect, stripVTControlCharacters } from "node:util";
import type { OutputStream } from "../process.ts";
import { tonesInUse } from "./style.ts";

/**
 * What a terminal or a reader must not get from data: control characters of both sets except tab and line feed, and
 * characters that change the direction of text.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

const ownCodes = [...new Set(tonesInUse.flatMap((tone) => inspect.colors[tone] ?? []))];
const ownColours = new RegExp(`(${String.fromCharCode(27)}\\[(?:${ownCodes.join("|")})m)`);

/** Returns the text as a stream may show it: unchanged, or for a terminal with nothing but JobForge's own colours. */
export function shownOn(stream: OutputStream, text: string): string {
  if (stream.isTTY !== true) return text;
  // Every second part is a colour.
  const parts = text.split(ownColours);
  return parts.map((part, index) => (index % 2 === 1 ? part : printable(part))).join("");
}

/** Returns a value as one line without control characters. */
export function plain(value: string): string {
  return printable(value).replaceAll(/[\t\n]+/g, " ");
}

function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(unsafe, " ");
}
