/** Receives notifications, and can prove that none was sent. */
import type { TestConnection } from "@jobforge/testing";

export interface Listener {
  /**
   * Returns the notifications since the last call, as "channel: payload", in order. Sends a mark and reads up to it.
   */
  heard(): Promise<string[]>;
}

/** Listens on JobForge's three channels. */
export async function listen(
  db: { connect(): Promise<TestConnection> },
  ...more: readonly string[]
): Promise<Listener> {
  const [listening, sending] = [await db.connect(), await db.connect()];
  const heard: string[] = [];
  let arrived: (mark: string) => void = () => undefined;
  listening.client.on("notification", ({ channel, payload = "" }) => {
    if (payload.startsWith("mark ")) arrived(payload);
    else heard.push(`${channel}: ${payload}`);
  });
  for (const channel of ["jobforge_wake", "jobforge_cancel", "jobforge_done", ...more])
    await listening.query(`listen ${channel}`);
  let marks = 0;
  return {
    heard: async () => {
      marks += 1;
      const mark = `mark ${marks}`;
      // Notifications arrive in commit order, so none that was sent before the mark arrives after it.
      await new Promise<void>((resolve, reject) => {
        arrived = (payload) => {
          if (payload === mark) resolve();
        };
        sending.query("select pg_notify('jobforge_wake', $1)", [mark]).catch(reject);
      });
      return heard.splice(0);
    },
  };
}
