/** The types that exist, for suggestions. */
import { useQuery } from "@tanstack/preact-query";
import { api, bodyOf } from "./client.ts";
import { useMay } from "./session.ts";

export const useKnownTypes = (isAsked = true) =>
  useQuery({
    queryKey: ["types", "1 hour"],
    queryFn: () => bodyOf(api.GET("/v1/types")),
    enabled: useMay()("list_types") && isAsked,
    staleTime: 30_000,
  });
