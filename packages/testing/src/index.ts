export { cloneDatabase, type Row, type TestConnection, type TestDatabase } from "./database.ts";
export { assertEnqueued, assertNotEnqueued, type EnqueuedJobs, type Subset } from "./enqueued.ts";
export { drain, type RunJobOptions, runJob } from "./jobs.ts";
export {
  startTestServer,
  type TestServer,
  type TestServerAddress,
  type TestServerOptions,
} from "./server.ts";
export { type RunWorkflowOptions, runWorkflow, type TestSignal } from "./workflows.ts";
