export { cloneDatabase, type Row, type TestConnection, type TestDatabase } from "./database.ts";
export { drain, runJob } from "./jobs.ts";
export {
  startTestServer,
  type TestServer,
  type TestServerAddress,
  type TestServerOptions,
} from "./server.ts";
