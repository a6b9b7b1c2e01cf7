/** The pages: their paths, their keys, and the function of the kernel that a caller needs for each. */
import type { IconName } from "../ui/Icon.tsx";

export interface PageInfo {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Any of these functions gives access. Empty: everyone. */
  readonly needs: readonly string[];
  /** The second key after `g`. */
  readonly key: string;
  /** One of the five in the bar at the bottom of a narrow screen. */
  readonly isMain?: boolean;
  readonly group: "work" | "steer" | "account";
}

export const pages: readonly PageInfo[] = [
  { path: "/", name: "Overview", icon: "overview", needs: [], key: "o", isMain: true, group: "work" },
  { path: "/jobs", name: "Jobs", icon: "jobs", needs: ["list_jobs"], key: "j", isMain: true, group: "work" },
  {
    path: "/dead",
    name: "Dead letters",
    icon: "dead",
    needs: ["list_dead_groups"],
    key: "d",
    isMain: true,
    group: "work",
  },
  {
    path: "/workflows",
    name: "Workflows",
    icon: "workflows",
    needs: ["list_workflows"],
    key: "f",
    group: "work",
  },
  // Tenants may list their types, for suggestions. The page is about workers, pauses and policies.
  { path: "/types", name: "Types", icon: "types", needs: ["list_gates"], key: "t", group: "work" },
  {
    path: "/schedules",
    name: "Schedules",
    icon: "schedules",
    needs: ["list_schedules"],
    key: "s",
    isMain: true,
    group: "work",
  },
  {
    path: "/webhooks",
    name: "Webhooks",
    icon: "webhooks",
    needs: ["list_webhook_endpoints"],
    key: "h",
    group: "work",
  },
  { path: "/tenants", name: "Tenants", icon: "tenants", needs: ["list_tenants"], key: "n", group: "steer" },
  {
    path: "/controls",
    name: "Limits and pauses",
    icon: "controls",
    needs: ["list_gates"],
    key: "l",
    group: "steer",
  },
  { path: "/workers", name: "Workers", icon: "workers", needs: ["list_workers"], key: "w", group: "steer" },
  { path: "/usage", name: "Usage", icon: "usage", needs: ["report_usage"], key: "u", group: "steer" },
  { path: "/audit", name: "Audit", icon: "audit", needs: ["list_audit"], key: "a", group: "account" },
  { path: "/keys", name: "Keys", icon: "keys", needs: ["list_tokens"], key: "k", group: "account" },
  { path: "/settings", name: "Settings", icon: "settings", needs: [], key: "e", group: "account" },
];

export function pagesFor(may: (name: string) => boolean): readonly PageInfo[] {
  return pages.filter(({ needs }) => needs.length === 0 || needs.some(may));
}
