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
];

export function pagesFor(may: (name: string) => boolean): readonly PageInfo[] {
  return pages.filter(({ needs }) => needs.length === 0 || needs.some(may));
}
