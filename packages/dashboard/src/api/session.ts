/** Who is signed in, and what they may do. The server decides; the pages only show what it allows. */
import { useQuery, useQueryClient } from "@tanstack/preact-query";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api, bodyOf, type Schemas } from "./client.ts";
import { problemFrom } from "./problem.ts";

export type Me = Schemas["Me"];
export type Ui = Schemas["Ui"];

export const meKey = ["me"] as const;

/** A list that was asked for before anything else, and says who is signed in. */
let firstAnswer: Promise<Me | undefined> | undefined;

/** Lets the first page wait for an answer that also says who is signed in, so that it needs no request for that. */
export function expectMe(answer: Promise<Me | undefined>): void {
  firstAnswer = answer.catch((error: unknown) => {
    if (problemFrom(error).status === 401) throw error;
    return undefined;
  });
  firstAnswer.catch(() => undefined);
}

/** A list that takes longer does not delay the frame of the page. */
const patienceMs = 2000;

async function readMe(): Promise<Me> {
  const first = firstAnswer;
  firstAnswer = undefined;
  const late = new Promise<undefined>((resolve) => {
    setTimeout(resolve, patienceMs);
  });
  return (await Promise.race([first, late])) ?? (await bodyOf(api.GET("/v1/me")));
}

export const useMeQuery = () =>
  useQuery({ queryKey: meKey, queryFn: readMe, staleTime: Number.POSITIVE_INFINITY, retry: false });

/** How the dashboard is labelled. The server writes it into each page. */
export const ui: Ui = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="jobforge-ui"]')?.content ?? "{}",
) as Ui;

export const MeContext = createContext<Me | undefined>(undefined);

export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new TypeError("useMe needs a signed-in user");
  return me;
}

/** Whether the caller may call a function of the kernel, named without its prefix. */
export function useMay(): (name: string) => boolean {
  const { may } = useMe();
  return (name) => may.includes(name);
}

/** Whether the caller acts for all tenants, so that pages have a column for the tenant. */
export function useSeesTenants(): boolean {
  return useMe().tenant_id === null;
}

/** Ends the session, and forgets everything that was read in it. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await api.DELETE("/v1/session").catch(() => undefined);
    client.clear();
    location.reload();
  };
}
