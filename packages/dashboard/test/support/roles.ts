/** What each role finds: the pages, and on each page the names of the buttons, without those of a row's own data. */
import type { Claims } from "../../../server/test/support/server.ts";
import { operator } from "./scene.ts";
import { tenants } from "./seed.ts";

export interface Role {
  readonly as: Claims;
  readonly pages: readonly string[];
  /** By path or name of the page. A page that is not here has no button. */
  readonly buttons: Readonly<Record<string, readonly string[]>>;
  /** What the server refuses, also if a program asks without the page: method, path and body. */
  readonly refused: readonly (readonly [string, string, object?])[];
}

const schedules = [
  "Copy as",
  "Create a schedule",
  "Disable",
  "Disable all shown",
  "Preview a cron expression",
  "Run now",
];
const ofTenants = {
  "/audit": ["Copy as"],
  "/jobs": ["Columns", "Copy as"],
  "/schedules": schedules,
  "/usage": ["Copy as", "Save as CSV"],
  "/webhooks": ["Add an endpoint"],
  "dead job": ["Cancel", "Compare with the last success", "Copy as", "Edit a copy", "Run again"],
  schedule: ["Copy as", "Disable", "Edit", "Run now"],
  "failed workflow": [
    "Cancel",
    "Copy as",
    "Resolve by hand",
    "Retry the step",
    "Retry what failed",
    "Send a signal",
  ],
  "waiting workflow": ["Approve", "Cancel", "Copy as", "Retry what failed", "Send a signal"],
  webhook: ["Copy as", "Delete", "Deliver again", "Disable", "Rotate", "Send a test", "Show the secret"],
};

export const roles: Readonly<Record<"operator" | "tenant" | "reader", Role>> = {
  operator: {
    as: operator,
    pages: [
      "Overview",
      "Jobs",
      "Dead letters",
      "Workflows",
      "Types",
      "Schedules",
      "Webhooks",
      "Tenants",
      "Limits and pauses",
      "Workers",
      "Usage",
      "Audit",
      "Keys",
      "Settings",
    ],
    buttons: {
      ...ofTenants,
      // The fixes of what needs attention, with the type that each is about.
      "/": [
        "Resume the type evil.job",
        "Resume the type image.resize",
        "Run the failed jobs of evil.job again",
        "Show as table",
      ],
      "/controls": ["Copy as", "Edit", "Pause", "Remove", "Resume", "Set a limit"],
      "/dead": ["Copy as", "Delete", "Run again"],
      "/keys": ["Create a key", "Revoke"],
      "/tenants": ["Copy as", "Edit"],
      "/types": ["Copy as"],
      "/workers": ["Copy as"],
      "waiting job": ["Cancel", "Copy as", "Edit", "Edit a copy", "Resume the type", "Run now"],
      tenant: ["Edit", "Pause", "Set a limit", "Show as table"],
      type: ["Copy as", "Edit", "Enqueue a job", "Pause", "Remove", "Set a limit", "Show as table"],
      worker: ["Ask it to stop"],
    },
    refused: [],
  },
  tenant: {
    as: { role: "jobforge_app", tenant_id: tenants.acme, email: "grace@acme.example" },
    pages: [
      "Overview",
      "Jobs",
      "Dead letters",
      "Workflows",
      "Schedules",
      "Webhooks",
      "Usage",
      "Audit",
      "Settings",
    ],
    buttons: {
      ...ofTenants,
      "/": ["Show as table"],
      "/dead": ["Copy as", "Run again"],
      "waiting job": ["Cancel", "Copy as", "Edit", "Edit a copy", "Run now"],
    },
    refused: [
      ["PUT", "/v1/gates", { scope: "all", key: null, paused: true }],
      ["PUT", "/v1/limits", { scope: "type", key: "mail.send", max_running: 1 }],
      ["DELETE", "/v1/limits?scope=type&key=webhook.deliver"],
      ["PATCH", `/v1/tenants/${tenants.acme}`, { weight: 9 }],
      ["PATCH", "/v1/types/mail.send/policy", { max_attempts: 9 }],
      ["POST", "/v1/bulk/purge", { filters: { status: "dead" } }],
      ["POST", "/v1/tokens", { name: "mine", role: "jobforge_operator" }],
      ["GET", "/v1/tokens"],
      ["GET", "/v1/workers"],
      ["GET", "/v1/gates"],
      ["GET", "/v1/tenants"],
      ["GET", `/v1/jobs?tenant_id=${tenants.globex}`],
      ["POST", `/v1/jobs?tenant_id=${tenants.globex}`, { type: "mail.send", payload: {} }],
    ],
  },
  reader: {
    as: { role: "jobforge_reader" },
    pages: ["Overview", "Types", "Tenants", "Limits and pauses", "Workers", "Usage", "Settings"],
    buttons: {
      "/": ["Show as table"],
      "/controls": ["Copy as"],
      "/tenants": ["Copy as"],
      "/types": ["Copy as"],
      "/usage": ["Copy as", "Save as CSV"],
      "/workers": ["Copy as"],
      tenant: ["Show as table"],
      type: ["Copy as", "Show as table"],
    },
    refused: [
      ["GET", "/v1/jobs"],
      ["GET", "/v1/dead"],
      ["GET", "/v1/audit"],
      ["GET", "/v1/schedules"],
      ["GET", "/v1/tokens"],
      ["POST", "/v1/jobs", { type: "mail.send", payload: {} }],
      ["POST", "/v1/bulk/cancel", { filters: { type: "mail.send" } }],
      ["PUT", "/v1/gates", { scope: "all", key: null, paused: true }],
      ["PUT", "/v1/limits", { scope: "type", key: "mail.send", max_running: 1 }],
      ["PATCH", `/v1/tenants/${tenants.acme}`, { weight: 9 }],
    ],
  },
};
