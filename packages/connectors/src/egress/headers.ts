/** The request headers that a payload or a configuration may set. */
import { ConnectorError } from "../errors.ts";
import { headers as rules } from "./table.ts";

const maxHeaders = 64;
const maxHeaderBytes = 16_384;
const name = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const value = /^[\t\x20-\x7e]*$/;

/** Whether JobForge sets a header itself, or the header could open a metadata service or confuse a proxy. */
export function isRefusedHeader(header: string): boolean {
  const lower = header.toLowerCase();
  return rules.denied.includes(lower) || rules.denied_prefixes.some((prefix) => lower.startsWith(prefix));
}

/** Throws if a header of a payload or configuration is malformed or refused. Its value never appears in the text. */
export function checkHeader(header: string, text: string): void {
  if (!name.test(header)) throw invalid("The name of a header contains a character that is not allowed.");
  if (isRefusedHeader(header)) throw invalid(`The header ${header} cannot be set by a job: remove it.`);
  checkValue(header, text);
}

/**
 * Throws if a value could end its header, or if there are too many headers, or if they are too long together. Headers
 * of JobForge's own have texts of payloads in them, too, such as the type of an event.
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const entries = Object.entries(headers);
  for (const [header, text] of entries) checkValue(header, text);
  const bytes = entries.reduce((sum, [header, text]) => sum + header.length + text.length + 4, 0);
  if (entries.length > maxHeaders || bytes > maxHeaderBytes)
    throw invalid(`A request has at most ${maxHeaders} headers and ${maxHeaderBytes} bytes of them.`);
}

function checkValue(header: string, text: string): void {
  if (!value.test(text)) throw invalid(`The value of the header ${header} must be visible ASCII.`);
}

function invalid(message: string): ConnectorError {
  return new ConnectorError("invalid_header", message);
}
