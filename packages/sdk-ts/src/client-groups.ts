/** The calls of a client that are in groups, such as `gates`. */
import { AuditLog } from "./groups/audit.ts";
import { Connectors } from "./groups/connectors.ts";
import { Egress } from "./groups/egress.ts";
import { Gates } from "./groups/gates.ts";
import { Installation } from "./groups/installation.ts";
import { AllJobs } from "./groups/jobs.ts";
import { Limits } from "./groups/limits.ts";
import { Policies } from "./groups/policies.ts";
import { Runs } from "./groups/runs.ts";
import { Schedules } from "./groups/schedules.ts";
import { Tenants } from "./groups/tenants.ts";
import { JobTypes } from "./groups/types.ts";
import { UsageReports } from "./groups/usage.ts";
import { Webhooks } from "./groups/webhooks.ts";
import { Workers } from "./groups/workers.ts";
import { Workflows } from "./groups/workflows.ts";
import type { DoneSignals } from "./jobs/wait.ts";
import type { Transport } from "./transport/transport.ts";

export class ClientGroups {
  /** The way to the kernel, for functions that have no method here. */
  readonly transport: Transport;
  /** Recurring work. */
  readonly schedules: Schedules;
  /** Graphs of jobs that need each other. */
  readonly workflows: Workflows;
  /** Claiming and ending runs without a worker. */
  readonly runs: Runs;
  /** The jobs of all tenants. */
  readonly jobs: AllJobs;
  /** Pauses. */
  readonly gates: Gates;
  /** How many jobs run at once, and how many start in a span of time. */
  readonly limits: Limits;
  /** How the jobs of a type behave. */
  readonly policies: Policies;
  /** Quotas, weights and logins of tenants. */
  readonly tenants: Tenants;
  readonly workers: Workers;
  readonly types: JobTypes;
  /** What was used, and what is live now. */
  readonly usage: UsageReports;
  readonly audit: AuditLog;
  readonly connectors: Connectors;
  /** What connectors may reach. */
  readonly egress: Egress;
  /** Who is notified of the ends of jobs, and events of the application. */
  readonly webhooks: Webhooks;
  /** Health and maintenance. */
  readonly installation: Installation;

  /** `root` is the client whose groups handles use, because this one ends with its transaction. */
  constructor(transport: Transport, signals: DoneSignals, root: ClientGroups | undefined) {
    this.transport = transport;
    this.schedules = new Schedules(transport);
    this.workflows = new Workflows(transport, signals, root?.workflows);
    this.runs = new Runs(transport);
    this.jobs = new AllJobs(transport);
    this.gates = new Gates(transport);
    this.limits = new Limits(transport);
    this.policies = new Policies(transport);
    this.tenants = new Tenants(transport);
    this.workers = new Workers(transport);
    this.types = new JobTypes(transport);
    this.usage = new UsageReports(transport);
    this.audit = new AuditLog(transport);
    this.connectors = new Connectors(transport);
    this.egress = new Egress(transport);
    this.webhooks = new Webhooks(transport);
    this.installation = new Installation(transport);
  }
}
