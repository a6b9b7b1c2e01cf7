/** The style and the script of the page, and a content security policy that allows only these two. */
import { createHash } from "node:crypto";

export const style: string = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1.5rem 0; width: 100%; }
caption { font-weight: 600; text-align: start; }
th, td { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); padding: .25rem .75rem .25rem 0; text-align: start; vertical-align: top; }
td { overflow-wrap: break-word; }
summary { cursor: pointer; }
pre { font-size: .8rem; max-width: 40rem; overflow-x: auto; white-space: pre-wrap; }
.number { font-variant-numeric: tabular-nums; }
.number, .word { white-space: nowrap; }
.text { min-width: 12rem; overflow-wrap: anywhere; }
.id { font-family: ui-monospace, monospace; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wide { overflow-x: auto; }
@media (max-width: 40rem) { .id { display: none; } body { margin: 1rem auto; } }
`;

/**
 * Removes the token from the address, because the browser has it as a cookie. When something has changed, fetches the
 * page again, at most once a second, and replaces its main part. Errors that are open stay open.
 */
export const script: string = `
if (location.search !== "") history.replaceState(null, "", location.pathname);
const note = document.querySelector("[role=status]");
const stream = new EventSource("v1/stream");
let due;
async function show() {
  due = undefined;
  const response = await fetch(location.href);
  if (!response.ok) return;
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const { id } of document.querySelectorAll("details[open]")) next.getElementById(id)?.setAttribute("open", "");
  document.querySelector("main").replaceWith(next.querySelector("main"));
}
stream.addEventListener("changed", () => { due ??= setTimeout(show, 1000); });
stream.addEventListener("open", () => { note.textContent = "Live"; });
stream.addEventListener("error", () => { note.textContent = "Not connected: the data may be outdated. If jobforge dev was restarted, open the URL that it prints"; });
`;

export const contentSecurityPolicy: string = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(script)}`,
  "connect-src 'self'",
  // Browsers request an icon, and log an error if the policy forbids it.
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
