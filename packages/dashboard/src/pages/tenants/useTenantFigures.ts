/** The tenants with what waits, runs and ended, a page at a time: counting costs the database something. */
import { useQuery } from "@tanstack/preact-query";
import { api, bodyOf, type Schemas } from "../../api/client.ts";

export type ListedTenant = Schemas["ListedTenant"];

/** The most tenants that the server counts in one request. */
export const mostCounted = 100;

/** `search`: part of a label, or an id. */
export const useTenantFigures = (search: string, cursor?: string) =>
  useQuery({
    queryKey: ["tenant-figures", search, cursor ?? null],
    queryFn: () =>
      bodyOf(
        api.GET("/v1/tenants", {
          params: {
            query: {
              figures: "true",
              limit: mostCounted,
              ...(search !== "" && { search }),
              ...(cursor !== undefined && { cursor }),
            },
          },
        }),
      ),
    placeholderData: (before) => before,
    refetchInterval: 60_000,
    meta: { live: true },
  });
