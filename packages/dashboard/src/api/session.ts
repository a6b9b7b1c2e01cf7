/** Who is signed in, and what they may do. The server decides; the pages only show what it allows. */
import { useQuery, useQueryClient } from "@tanstack/preact-query";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api, bodyOf, type Schemas } from "./client.ts";

export type Me = Schemas["Me"];
export type Ui = Schemas["Ui"];

export const meKey = ["me"] as const;

export const useMeQuery = () =>
  useQuery({
    queryKey: meKey,
    queryFn: () => bodyOf(api.GET("/v1/me")),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

export const useUi = () =>
  useQuery({
    queryKey: ["ui"],
    queryFn: () => bodyOf(api.GET("/v1/ui")),
    staleTime: Number.POSITIVE_INFINITY,
  });

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
