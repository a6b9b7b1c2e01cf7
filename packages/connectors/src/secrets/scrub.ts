/** Removes the secrets of a request from everything that is stored or logged: services echo what they were sent. */
const mask = "[secret]";
/** A shorter text would occur by chance. */
const minLength = 4;

export class Scrubber {
  readonly #forms = new Set<string>();

  /** From now on, the value is removed: as it is, in base64 and in the form of URLs. */
  add(value: string): void {
    if (value.length < minLength) return;
    const bytes = Buffer.from(value);
    const forms = [
      value,
      bytes.toString("base64"),
      bytes.toString("base64").replace(/=+$/, ""),
      bytes.toString("base64url"),
      encodeURIComponent(value),
      new URLSearchParams({ "": value }).toString().slice(1),
      JSON.stringify(value).slice(1, -1),
    ];
    for (const form of forms) this.#forms.add(form);
  }

  text(text: string): string {
    // The longest form first: a shorter one may be a part of it.
    return this.#sorted().reduce((scrubbed, form) => scrubbed.replaceAll(form, mask), text);
  }

  bytes(bytes: Buffer): Buffer {
    if (this.#forms.size === 0) return bytes;
    return Buffer.from(this.#inLatin1(bytes.toString("latin1")), "latin1");
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

  #sorted(): string[] {
    return [...this.#forms].sort((a, b) => b.length - a.length);
  }
}
