/** Where the HTTP server is plugged into `jobforge dev`. */

export interface Dashboard extends AsyncDisposable {
  /** Where people find it. */
  readonly url: string;
}

export interface DashboardOptions {
  readonly databaseUrl: string;
  readonly apiSchema: string;
}

/** Starts what there is to look at in a browser; undefined while there is nothing. */
export type StartDashboard = (options: DashboardOptions) => Promise<Dashboard | undefined>;

export const startDashboard: StartDashboard = async () => undefined;
