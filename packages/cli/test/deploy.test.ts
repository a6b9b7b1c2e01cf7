/** Tests of the files in deploy/: they are valid, use existing commands, and keep the promises of deploy/README.md. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { findTool } from "../../../scripts/tools.js";
import { test as onDatabase } from "../../../test/database.ts";
import { repository } from "./files.ts";
import { run } from "./support.ts";

const read = (name: string): string => readFileSync(join(repository, "deploy", name), "utf8");
const documents = (name: string): Resource[] =>
  parseAllDocuments(read(name), { merge: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Resource;
  });

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly resources: { readonly limits: object; readonly requests: object };
  readonly securityContext: object;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: object;
    readonly ports: readonly { readonly targetPort: string }[];
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds?: number;
        readonly securityContext: object;
        readonly containers: readonly Container[];
      };
    };
    readonly scaleTargetRef: { readonly name: string };
    readonly triggers: readonly { readonly metadata: { readonly query: string } }[];
  };
}

/** Fails if the command or one of its options does not exist. */
async function expectCommand(words: readonly string[]): Promise<void> {
  const [command = ""] = words;
  const { exitCode, stdout } = await run([command, "--help"]);
  expect(exitCode, command).toBe(0);
  for (const option of words.filter((word) => word.startsWith("--"))) expect(stdout).toContain(option);
}

/** Undefined if it is not available. Then one test is skipped, and `findTool` has printed a line about it. */
const validate = await findTool("kubernetes-validate");

describe("the Kubernetes manifests", () => {
  test.skipIf(validate === undefined)("conform to the schemas of Kubernetes", async () => {
    const check = async (name: string): Promise<string> => {
      const args = ["--strict", "--no-warn", join(repository, "deploy/kubernetes", name)];
      const { stdout, stderr } = await promisify(execFile)(validate?.path ?? "", args, {
        env: validate?.env,
      });
      return stdout + stderr;
    };
    expect((await check("migrate.yaml")).match(/ passed /g)).toHaveLength(1);
    expect((await check("worker.yaml")).match(/ passed /g)).toHaveLength(2);
    expect((await check("server.yaml")).match(/ passed /g)).toHaveLength(3);
    // The other document is for KEDA, and Kubernetes has no schema for it.
    expect((await check("scaling.yaml")).match(/ passed /g)).toHaveLength(1);
    await expect(check("../docker-compose.yml")).rejects.toThrow();
  });

  const workloads = ["migrate", "worker", "server"].flatMap((name) => documents(`kubernetes/${name}.yaml`));
  const pods = workloads.filter(({ kind }) => kind === "Job" || kind === "Deployment");
  const podOf = (name: string): Resource["spec"]["template"] | undefined =>
    pods.find(({ metadata }) => metadata.name === name)?.spec.template;

  test("run existing commands, not as root, with limits", async () => {
    expect(pods.map(({ kind }) => kind)).toEqual(["Job", "Deployment", "Deployment"]);
    for (const { spec } of pods.map((pod) => pod.spec.template)) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true });
      for (const container of spec.containers) {
        await expectCommand(container.args);
        expect(container.image).toMatch(/:\d+\.\d+\.\d+$/);
        expect(container.resources).toMatchObject({
          limits: { memory: expect.stringMatching(/Mi$/) },
          requests: { cpu: expect.stringMatching(/m$/) },
        });
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });

  test("probe workers on the port they listen on, and give them time to finish", () => {
    const spec = podOf("jobforge-worker")?.spec;
    const [worker] = spec?.containers ?? [];
    const option = (name: string): string => worker?.args[worker.args.indexOf(name) + 1] ?? "";
    expect(spec?.terminationGracePeriodSeconds).toBeGreaterThan(Number.parseInt(option("--grace"), 10) + 10);
    expect(worker?.ports).toEqual([{ name: "metrics", containerPort: Number(option("--metrics-port")) }]);
    expect(worker?.startupProbe?.httpGet).toEqual({ path: "/readyz", port: "metrics" });
    expect(worker?.readinessProbe?.httpGet).toEqual({ path: "/readyz", port: "metrics" });
    expect(worker?.livenessProbe?.httpGet).toEqual({ path: "/healthz", port: "metrics" });
  });

  test("probe the server on the port it listens on, and send it requests", () => {
    const pod = podOf("jobforge-server");
    const [server] = pod?.spec.containers ?? [];
    expect(server?.livenessProbe?.httpGet).toEqual({ path: "/healthz", port: "http" });
    expect(server?.readinessProbe?.httpGet).toEqual({ path: "/readyz", port: "http" });
    const port = Number(server?.args[server.args.indexOf("--port") + 1]);
    expect(server?.ports).toEqual([{ name: "http", containerPort: port }]);
    const service = workloads.find(({ kind }) => kind === "Service");
    expect(service?.spec.selector).toEqual(pod?.metadata.labels);
    expect(service?.spec.ports).toMatchObject([{ targetPort: "http" }]);
    expect(pod?.spec.terminationGracePeriodSeconds).toBeGreaterThan(5 + 10);
  });

  onDatabase("scale an existing deployment, by a query that returns a number", async ({ db }) => {
    for (const { spec } of documents("kubernetes/scaling.yaml")) {
      expect(spec.scaleTargetRef.name).toBe("jobforge-worker");
      for (const { metadata } of spec.triggers ?? [])
        expect(Object.values((await db.query(metadata.query))[0] ?? {})).toEqual(["0"]);
    }
  });
});

test("docker-compose.yml migrates before the workers and the server start, and lets them finish", async () => {
  const { services } = parse(read("docker-compose.yml"), { merge: true }) as {
    services: Record<
      string,
      {
        command: string[];
        depends_on: object;
        environment: object;
        ports: string[];
        stop_grace_period: string;
        build: { dockerfile: string };
      }
    >;
  };
  for (const name of ["migrate", "worker", "server"]) await expectCommand(services[name]?.command ?? []);
  for (const name of ["worker", "server"])
    expect(services[name]?.depends_on).toEqual({
      migrate: { condition: "service_completed_successfully" },
    });
  expect(Number.parseInt(services["worker"]?.stop_grace_period ?? "", 10)).toBeGreaterThan(30);
  expect(Number.parseInt(services["server"]?.stop_grace_period ?? "", 10)).toBeGreaterThan(10);
  expect(Object.keys(services["server"]?.environment ?? {})).toEqual(["DATABASE_URL", "JOBFORGE_JWT_SECRET"]);
  expect(services["server"]?.ports).toEqual(["127.0.0.1:4470:4470"]);
  expect(existsSync(join(repository, services["worker"]?.build.dockerfile ?? "nothing"))).toBe(true);
});

test("the Dockerfile copies existing files, in stages, and does not run as root", () => {
  const lines = read("Dockerfile")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const stages = lines.filter((line) => line.startsWith("FROM "));
  expect(stages).toHaveLength(2);
  for (const stage of stages) expect(stage).toMatch(/^FROM node:\d+\.\d+-/);
  expect(lines.filter((line) => line.startsWith("USER "))).toEqual(["USER 1000:1000"]);
  for (const line of lines.filter((each) => each.startsWith("COPY ") && !each.includes("--from="))) {
    for (const source of line.split(" ").slice(1, -1))
      expect(existsSync(join(repository, source)), line).toBe(true);
  }
});
