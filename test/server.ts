/** Starts the server that all tests of a run share, and provides its address to them. */
import { startTestServer, type TestServerAddress } from "@jobforge/testing";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    server: TestServerAddress;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const version = process.env["JOBFORGE_TEST_POSTGRES"] === "15" ? 15 : 18;
  const server = await startTestServer({ version });
  project.provide("server", { url: server.url, template: server.template });
  return () => server.stop();
}
