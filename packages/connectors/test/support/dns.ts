/** A DNS server on loopback whose records a test can change at any time. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

export interface TestDns {
  /** For `dns_servers` of a policy. */
  readonly address: string;
  /** The questions so far, such as `A api.test.example`. */
  readonly asked: string[];
  /** The addresses of a name; a function is called for each question. */
  set(name: string, addresses: readonly string[] | (() => readonly string[])): void;
}

/** Starts a server. It knows no name until a test sets one, and returns NXDOMAIN for the others. */
export async function startDns(): Promise<TestDns> {
  const records = new Map<string, () => readonly string[]>();
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = questionOf(query);
    asked.push(`${type === 28 ? "AAAA" : "A"} ${name}`);
    socket.send(responseTo(query, end, type, records.get(name)?.()), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => {
    socket.close();
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    set: (name, addresses) => {
      records.set(name, typeof addresses === "function" ? addresses : () => addresses);
    },
  };
}

function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function responseTo(
  query: Buffer,
  end: number,
  type: number,
  addresses: readonly string[] | undefined,
): Buffer {
  const fitting = (addresses ?? []).filter((address) => address.includes(":") === (type === 28));
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(addresses === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(fitting.length, 6);
  header.writeUInt32BE(0, 8);
  const answers = fitting.map((address) => {
    const data = bytesOf(address);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, query.subarray(12, end), ...answers]);
}

function bytesOf(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
