import "./styles/tokens.css";
import "./styles/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/preact-query";
import { render } from "preact";
import { App } from "./App.tsx";
import { jobsQuery } from "./api/jobs.ts";
import { Problem } from "./api/problem.ts";
import { expectMe } from "./api/session.ts";
import { readFilter } from "./lib/filter.ts";
import { base } from "./state/route.ts";

/** A request that the server refuses for a reason is not repeated. Others are, twice, when the server asks for it. */
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      refetchOnWindowFocus: false,
      retry: (failures, error) =>
        failures < 2 && error instanceof Problem && [0, 429, 502, 503, 504].includes(error.status),
      retryDelay: (failures, error) =>
        error instanceof Problem && error.retryAfterMs !== undefined
          ? Math.min(error.retryAfterMs, 30_000)
          : 500 * 2 ** failures,
    },
  },
});

// The list of jobs is asked for before the page knows who is signed in, and says that, too: one request and one round
// trip less until its first row.
if (location.pathname === `${base}/jobs`) {
  const tenant = new URLSearchParams(location.search).get("tenant") ?? undefined;
  const list = { ...jobsQuery(readFilter(location.search), tenant, { caller: "true" }), retry: false };
  expectMe(client.fetchInfiniteQuery(list).then(({ pages }) => pages[0]?.caller));
}

const root = document.getElementById("app");
if (root !== null)
  render(
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>,
    root,
  );
