/**
 * Finds texts with a wanted hashtextextended. The hash of Postgres has no secret, and each of its steps can be undone:
 * start from the wanted hash, choose the part of the state that the hash does not show, and go back to the last block.
 */

type State = [a: number, b: number, c: number];

const u32 = (value: number): number => value >>> 0;
const rotate = (value: number, by: number): number => u32((value << by) | (value >>> (32 - by)));

/** Which words a step changes and reads, and by how much it rotates. */
const mixing = [
  [0, 2, 4, 1],
  [1, 0, 6, 2],
  [2, 1, 8, 0],
  [0, 2, 16, 1],
  [1, 0, 19, 2],
  [2, 1, 4, 0],
] as const;
const finishing = [
  [2, 1, 14],
  [0, 2, 11],
  [1, 0, 25],
  [2, 1, 16],
  [0, 2, 4],
  [1, 0, 14],
  [2, 1, 24],
] as const;

function mix(state: State): void {
  for (const [x, y, by, z] of mixing) {
    state[x] = u32(u32(state[x] - state[y]) ^ rotate(state[y], by));
    state[y] = u32(state[y] + state[z]);
  }
}

function unmix(state: State): void {
  for (const [x, y, by, z] of [...mixing].reverse()) {
    state[y] = u32(state[y] - state[z]);
    state[x] = u32(u32(state[x] ^ rotate(state[y], by)) + state[y]);
  }
}

function unfinish(state: State): void {
  for (const [x, y, by] of [...finishing].reverse()) {
    state[x] = u32(u32(state[x] + rotate(state[y], by)) ^ state[y]);
  }
}

/** Returns a text of ASCII characters so that hashtextextended(prefix || text, 0) is the wanted hash. */
export function forgeKey(prefix: string, wanted: bigint): string {
  const padding = "k".repeat((12 - (Buffer.byteLength(prefix) % 12)) % 12);
  const known = Buffer.from(prefix + padding);
  const start = u32(0x9e3779b9 + known.length + 12 + 3923095);
  const before: State = [start, start, start];
  for (let at = 0; at < known.length; at += 12) {
    for (const word of [0, 1, 2] as const)
      before[word] = u32(before[word] + known.readUInt32LE(at + 4 * word));
    mix(before);
  }
  const high = Number(BigInt.asUintN(64, wanted) >> 32n);
  const low = Number(BigInt.asUintN(32, wanted));
  for (let hidden = 1; hidden < 2 ** 32; hidden += 1) {
    const state: State = [hidden, high, low];
    unfinish(state);
    unmix(state);
    const block = Buffer.alloc(12);
    for (const word of [0, 1, 2] as const) block.writeUInt32LE(u32(state[word] - before[word]), 4 * word);
    if (block.every((byte) => byte > 0 && byte < 128)) return padding + block.toString("latin1");
  }
  throw new Error("no ASCII text has this hash");
}
