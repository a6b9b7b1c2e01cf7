/** Tests that the server's messages are found in bytes that arrive in pieces of any size. */
import { expect, test } from "vitest";
import { BackendMessages } from "../src/proxy/frames.ts";

function message(type: string, body: string): Buffer {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 0);
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5);
  return bytes;
}

const stream = [message("D", "row A"), message("A", "wake"), message("Z", ""), message("A", "wake again")];

test("notifications are dropped and counted, with pieces of any size", () => {
  const whole = Buffer.concat(stream);
  const kept = Buffer.concat([message("D", "row A"), message("Z", "")]);
  for (let size = 1; size <= whole.length; size += 1) {
    const messages = new BackendMessages();
    const out: Buffer[] = [];
    let dropped = 0;
    for (let at = 0; at < whole.length; at += size) {
      const taken = messages.take(whole.subarray(at, at + size), true);
      out.push(taken.bytes);
      dropped += taken.dropped;
    }
    expect(Buffer.concat(out)).toEqual(kept);
    expect(dropped).toBe(2);
  }
});

test("all messages are forwarded while notifications are not dropped", () => {
  const messages = new BackendMessages();
  expect(messages.take(Buffer.concat(stream), false)).toEqual({ bytes: Buffer.concat(stream), dropped: 0 });
});
