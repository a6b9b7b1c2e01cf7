/** Which page an address shows. Pages are loaded when they are first opened. */
import type { ComponentType, JSX } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useEffect } from "preact/hooks";
import { Route, Router, Switch } from "wouter-preact";
import { usePathname } from "wouter-preact/use-browser-location";
import { problemFrom } from "./api/problem.ts";
import { MeContext, ui, useMay, useMeQuery } from "./api/session.ts";
import { Jobs } from "./pages/jobs/Jobs.tsx";
import { SignIn } from "./pages/SignIn.tsx";
import { pages } from "./shell/pages.ts";
import { Shell } from "./shell/Shell.tsx";
import { base } from "./state/route.ts";
import { Link } from "./ui/Link.tsx";
import { PageHead } from "./ui/Panel.tsx";
import { Empty, ProblemNote, Skeleton } from "./ui/States.tsx";

type Params = Readonly<Record<string, string>>;
type Page = ComponentType<{ params: Params }>;

const lazily = <N extends string>(load: () => Promise<Record<N, Page>>, name: N): Page =>
  lazy(async () => ({ default: (await load())[name] }));

const routes: readonly (readonly [string, Page])[] = [
  ["/", lazily(() => import("./pages/overview/Overview.tsx"), "Overview")],
  ["/jobs", Jobs],
  ["/jobs/:id", lazily(() => import("./pages/job/Job.tsx"), "Job")],
  ["/dead", lazily(() => import("./pages/dead/Dead.tsx"), "Dead")],
  ["/types", lazily(() => import("./pages/types/Types.tsx"), "Types")],
  ["/types/:type", lazily(() => import("./pages/types/Type.tsx"), "Type")],
  ["/workflows", lazily(() => import("./pages/workflows/Workflows.tsx"), "Workflows")],
  ["/workflows/:id", lazily(() => import("./pages/workflows/Workflow.tsx"), "Workflow")],
  ["/schedules", lazily(() => import("./pages/schedules/Schedules.tsx"), "Schedules")],
  ["/schedules/:type/:key", lazily(() => import("./pages/schedules/Schedule.tsx"), "Schedule")],
  ["/webhooks", lazily(() => import("./pages/webhooks/Webhooks.tsx"), "Webhooks")],
  ["/webhooks/:id", lazily(() => import("./pages/webhooks/Webhook.tsx"), "Webhook")],
  ["/tenants", lazily(() => import("./pages/tenants/Tenants.tsx"), "Tenants")],
  ["/tenants/:id", lazily(() => import("./pages/tenants/Tenant.tsx"), "Tenant")],
  ["/controls", lazily(() => import("./pages/controls/Controls.tsx"), "Controls")],
  ["/usage", lazily(() => import("./pages/usage/Usage.tsx"), "Usage")],
  ["/workers", lazily(() => import("./pages/workers/Workers.tsx"), "Workers")],
  ["/workers/:id", lazily(() => import("./pages/workers/Worker.tsx"), "Worker")],
  ["/audit", lazily(() => import("./pages/audit/Audit.tsx"), "Audit")],
  ["/keys", lazily(() => import("./pages/keys/Keys.tsx"), "Keys")],
  ["/settings", lazily(() => import("./pages/settings/Settings.tsx"), "Settings")],
];

export function App(): JSX.Element | null {
  const me = useMeQuery();
  const path = usePathname().slice(base.length) || "/";
  if (me.data !== undefined)
    return (
      <MeContext.Provider value={me.data}>
        <Router base={base}>
          <Shell path={path}>
            <PageOf path={path} />
          </Shell>
        </Router>
      </MeContext.Provider>
    );
  if (me.error === null) return <Skeleton rows={3} />;
  if (problemFrom(me.error).status === 401) return <SignIn />;
  return (
    <main>
      <ProblemNote error={me.error} onRetry={() => void me.refetch()} />
    </main>
  );
}

function PageOf({ path }: { path: string }): JSX.Element {
  const may = useMay();
  const page = pages.find(
    (each) => path === each.path || (each.path !== "/" && path.startsWith(`${each.path}/`)),
  );
  useEffect(() => {
    document.title = [page?.name ?? "Not found", ui.environment, ui.title].filter(Boolean).join(" · ");
  }, [page]);
  useHeadingFocus(path);
  if (page !== undefined && page.needs.length > 0 && !page.needs.some(may))
    return (
      <>
        <PageHead title={page.name} />
        <Empty title="Your key does not allow this page">
          <p>It shows what an operator may see. Sign in with another key, or ask an operator.</p>
        </Empty>
      </>
    );
  return (
    <Suspense fallback={<Skeleton />}>
      <Switch>
        {routes.map(([pattern, Content]) => (
          <Route key={pattern} path={pattern}>
            {(params) => <Content params={params as Params} />}
          </Route>
        ))}
        <Route>
          <PageHead title="There is no such page" />
          <Empty title={`Nothing is at ${path}`}>
            <Link to="/">Go to the overview</Link>
          </Empty>
        </Route>
      </Switch>
    </Suspense>
  );
}

/** Moves the focus to the heading of a new page, as a browser does when it loads one. */
function useHeadingFocus(path: string): void {
  useEffect(() => {
    const isFirst = document.activeElement === document.body && history.length <= 1;
    const frame = requestAnimationFrame(() => {
      // Who was quicker and is already in a field of the page stays there.
      const isInside =
        document.activeElement?.closest("main :is(a, button, input, select, textarea)") != null;
      if (!isFirst && !isInside && document.querySelector("dialog[open]") === null)
        document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    });
    return () => cancelAnimationFrame(frame);
  }, [path]);
}
