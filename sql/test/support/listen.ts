/** Hears NOTIFYs, and can tell that none came. */
import type { TestConnection } from "@jobforge/testing";

export interface Listener {
  /** What has come since the last time, as "channel: payload", in order. Sends a mark of its own and reads up to it. */
  heard(): Promise<string[]>;
}

/** Listens on JobForge's three channels. */
export async function listen(db: { connect(): Promise<TestConnection> }): Promise<Listener> {
  const [ear, mouth] = [await db.connect(), await db.connect()];
  const heard: string[] = [];
  let arrived: (mark: string) => void = () => undefined;
  ear.client.on("notification", ({ channel, payload = "" }) => {
    if (payload.startsWith("mark ")) arrived(payload);
    else heard.push(`${channel}: ${payload}`);
  });
  for (const channel of ["jobforge_wake", "jobforge_cancel", "jobforge_done"])
    await ear.query(`listen ${channel}`);
  let marks = 0;
  return {
    heard: async () => {
      marks += 1;
      const mark = `mark ${marks}`;
      // Notifications arrive in the order of their commits, so nothing sent before the mark comes after it.
      await new Promise<void>((resolve, reject) => {
        arrived = (payload) => {
          if (payload === mark) resolve();
        };
        mouth.query("select pg_notify('jobforge_wake', $1)", [mark]).catch(reject);
      });
      return heard.splice(0);
    },
  };
}
