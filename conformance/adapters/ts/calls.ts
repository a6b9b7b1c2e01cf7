/** The methods of a client, by the names that scenarios use. */
import type { JobForge, List } from "@jobforge/sdk-ts";
import { definitionOf } from "./definitions.ts";
import { type Fields, toOptions } from "./names.ts";

/** The arguments of a call: `id`, `type` and `key` as they are, everything else as the options of the method. */
interface Arguments {
  readonly id: never;
  readonly key: never;
  readonly name: never;
  readonly payload: never;
  readonly scope: never;
  readonly changes: Record<string, never>;
  readonly options: Record<string, never>;
  readonly job: ReturnType<typeof definitionOf>;
}

type Method = (forge: JobForge, args: Arguments) => unknown;

const methods: Record<string, Method> = {
  get: (forge, { id, options }) => forge.get(id, options as never),
  list: (forge, { options }) => all(forge.list(options as never)),
  result: (forge, { id, options }) => forge.result(id, options as never),
  attempts: (forge, { id, options }) => forge.attempts(id, options as never),
  explain: (forge, { id, options }) => forge.explain(id, options as never),
  cancel: (forge, { id, options }) => forge.cancel(id, options as never),
  cancel_many: (forge, { options }) => forge.cancelMany(options as never),
  reschedule: (forge, { id, options }) => forge.reschedule(id, options as never),
  reschedule_many: (forge, { options }) => forge.rescheduleMany(options as never),
  update: (forge, { id, changes, options }) => forge.update(id, changes, options as never),
  sync: (forge, { job }) => forge.sync([job]),
  signal: (forge, { id, name, payload, options }) => forge.signal(id, name, payload, options as never),
  "workflows.get": (forge, { id, options }) => forge.workflows.get(id, options as never),
  "workflows.explain": (forge, { id, options }) => forge.workflows.explain(id, options as never),
  "workflows.steps": (forge, { id, options }) => all(forge.workflows.steps(id, options as never)),
  "workflows.result": (forge, { id, options }) => forge.workflows.result(id, options as never),
  "workflows.cancel": (forge, { id, options }) => forge.workflows.cancel(id, options as never),
  "workflows.retry": (forge, { id, options }) => forge.workflows.retry(id, options as never),
  "schedules.ensure": (forge, { job, key, options }) => forge.schedules.ensure(job, key, options as never),
  "schedules.get": (forge, { job, key, options }) => forge.schedules.get(job, key, options as never),
  "schedules.enable": (forge, { job, key, options }) => forge.schedules.enable(job, key, options as never),
  "schedules.disable": (forge, { job, key, options }) => forge.schedules.disable(job, key, options as never),
  "schedules.run": (forge, { job, key, options }) => forge.schedules.run(job, key, options as never),
  "schedules.delete": (forge, { job, key, options }) => forge.schedules.delete(job, key, options as never),
  "gates.pause": (forge, { scope, options }) => forge.gates.pause(scope, options),
  "gates.resume": (forge, { scope }) => forge.gates.resume(scope),
  "gates.list": (forge) => forge.gates.list(),
  "policies.get": (forge, { job }) => forge.policies.get(job.type),
  "tenants.set": (forge, { id, changes }) => forge.tenants.set(id, changes),
  "limits.set": (forge, { scope, options }) => forge.limits.set(scope, options),
  "workers.list": (forge) => forge.workers.list(),
  "webhooks.create": (forge, { options: { tenantId, ...options } }) =>
    forge.webhooks.create(tenantId as never, options as never),
  "webhooks.update": (forge, { id, changes, options }) =>
    forge.webhooks.update({ id, tenantId: options["tenantId"] as never }, changes),
  "webhooks.list": (forge, { options }) => forge.webhooks.list(options["tenantId"] as never),
  "webhooks.deliveries": (forge, { id, options: { tenantId, ...options } }) =>
    all(forge.webhooks.deliveries({ id, tenantId: tenantId as never }, options)),
  "webhooks.send": (forge, { changes, options }) =>
    forge.webhooks.send(options["tenantId"] as never, changes as never),
  "egress.get": (forge, { options }) => forge.egress.get(options),
  "egress.set": (forge, { options: { policy, ...options } }) => forge.egress.set(policy as never, options),
  "audit.list": (forge, { options }) => all(forge.audit.list(options)),
  "usage.live": (forge, { options }) => forge.usage.live(options),
};

/** Endpoints are named by their tenant and id. */
for (const name of ["get", "enable", "delete", "test"] as const)
  methods[`webhooks.${name}`] = (forge, { id, options }) =>
    forge.webhooks[name]({ id, tenantId: options["tenantId"] as never });
for (const name of ["disable", "rotate", "replay"] as const)
  methods[`webhooks.${name}`] = (forge, { id, options: { tenantId, ...options } }) =>
    forge.webhooks[name]({ id, tenantId: tenantId as never }, options);

export async function callMethod(forge: JobForge, request: Fields): Promise<unknown> {
  const { method, id, key, type, scope, changes, definitions, handlers: _, ...rest } = request;
  const isSignal = method === "signal";
  const { name, payload, ...others } = rest;
  const options: Fields = isSignal ? { ...others, ...(key === undefined ? {} : { key }) } : rest;
  const found = methods[String(method)];
  if (found === undefined) throw new Error(`the adapter has no method ${method}`);
  const isOfJob = /^(?:schedules|policies)\.|^sync$/.test(String(method));
  return await found(forge, {
    id: id as never,
    key: key as never,
    name: name as never,
    payload: payload as never,
    scope: (typeof scope === "object" ? toOptions(scope as Fields) : scope) as never,
    changes: toOptions((changes ?? {}) as Fields),
    options: toOptions(isOfJob || type === undefined ? options : { ...options, type }),
    job: definitionOf(isOfJob ? type : "unused", definitions),
  });
}

async function all<T>(list: List<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
