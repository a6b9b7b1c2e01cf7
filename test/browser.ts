/** A real browser for tests: one that is installed, or else one that is unpacked into the checkout. */
import { type Browser, chromium, type Page } from "playwright-core";
import { findTool } from "../scripts/tools.js";

/** Undefined if it is not available. Then tests with a browser are skipped, and `findTool` has printed a line. */
const tool: Awaited<ReturnType<typeof findTool>> = await findTool("chromium-headless-shell");

export const hasBrowser: boolean = tool !== undefined;

/** As root it has no sandbox, and it only shows our own pages. */
export function launchBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: tool?.path ?? "",
    env: { ...tool?.env } as Record<string, string>,
    args: ["--no-sandbox", ...args],
  });
}

/** Collects errors and warnings of the browser, dialogs, broken policies, and requests to other origins. */
export function complaintsOf(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on("console", (message) => {
    // Browsers log a response of 401 as an error, which is how a page learns that it must sign in.
    if (["error", "warning"].includes(message.type()) && !message.text().includes("status of 401"))
      complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request: ${request.url()}`);
  });
  return complaints;
}
