/**
 * npm, npx and pnpm start a command through a shell. When they get SIGTERM, they end the shell, which does not pass the
 * signal on. The command would run on unseen, with its database and its worker.
 */
const checkEveryMs = 500;

/** Calls back when the shell of npm, npx or pnpm that started this process is gone. Dispose of it to stop looking. */
export function onShellGone(env: Readonly<Record<string, string | undefined>>, end: () => void): Disposable {
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  };
  const timer = env["npm_command"] === undefined ? undefined : setInterval(look, checkEveryMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
