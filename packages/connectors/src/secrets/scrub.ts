/** Removes the secrets of a request from everything that is stored or logged: services echo what they were sent. */
import { escapeHtml } from "../reports/escape.ts";

const mask = "[secret]";
/** A shorter text would occur by chance. */
const minLength = 4;

export class Scrubber {
  readonly #forms = new Set<string>();

  /** From now on, the value is removed: as it is, in base64, and as URLs, JSON and HTML write it. */
  add(value: string): void {
    if (value.length < minLength) return;
    const bytes = Buffer.from(value);
    const base64 = bytes.toString("base64");
    const url = [encodeURIComponent(value), new URLSearchParams({ "": value }).toString().slice(1)];
    const json = JSON.stringify(value).slice(1, -1);
    const forms = [
      ...[value, base64, base64.replace(/=+$/, ""), bytes.toString("base64url"), json, escapeHtml(value)],
      ...[...url, ...url.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))],
      // Some writers of JSON escape slashes.
      ...[json, base64].map((form) => form.replaceAll("/", "\\/")),
    ];
    for (const form of forms) this.#forms.add(form);
  }

  text(text: string): string {
    // The longest form first: a shorter one may be a part of it.
    return this.#sorted().reduce((scrubbed, form) => scrubbed.replaceAll(form, mask), text);
  }

  /** Removes secrets from the texts of a JSON value, where escapes such as `\\/` and `\\u002b` no longer hide them. */
  json(value: unknown): unknown {
    if (this.#forms.size === 0) return value;
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.json(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [this.text(key), this.json(each)]));
  }

  /** Removes secrets from bytes. If they were cut off, their end may be the beginning of a secret: that goes, too. */
  bytes(bytes: Buffer, isWhole = true): Buffer {
    if (this.#forms.size === 0) return bytes;
    const text = this.#inLatin1(bytes.toString("latin1"));
    return Buffer.from(isWhole ? text : this.#withoutBeginning(text), "latin1");
  }

  /** Removes secrets from a stream, also where two chunks meet. */
  async *stream(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const longest = Math.max(1, ...this.#sorted().map((form) => Buffer.byteLength(form)));
    let rest = "";
    for await (const chunk of chunks) {
      const text = this.#inLatin1(rest + chunk.toString("latin1"));
      const end = Math.max(0, text.length - (longest - 1));
      rest = text.slice(end);
      if (end > 0) yield Buffer.from(text.slice(0, end), "latin1");
    }
    if (rest !== "") yield Buffer.from(rest, "latin1");
  }

  #inLatin1(text: string): string {
    return this.#sorted().reduce(
      (scrubbed, form) => scrubbed.replaceAll(Buffer.from(form).toString("latin1"), mask),
      text,
    );
  }

  #withoutBeginning(text: string): string {
    const forms = this.#sorted().map((form) => Buffer.from(form).toString("latin1"));
    for (let length = (forms[0]?.length ?? 0) - 1; length >= minLength; length -= 1) {
      const end = text.slice(-length);
      if (end.length === length && forms.some((form) => form.startsWith(end)))
        return `${text.slice(0, -length)}${mask}`;
    }
    return text;
  }

  #sorted(): string[] {
    return [...this.#forms].sort((a, b) => b.length - a.length);
  }
}
