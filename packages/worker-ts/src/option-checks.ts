/** Checks of a worker's options. Each error names the option, and its hint says what to pass. */
import { type Aliases, InvalidArgumentError, type JobHandler, suggest } from "@jobforge/sdk-ts";
import { hookAliases, hookNames } from "./option-names.ts";
import type { WorkerHooks } from "./reporting/hooks.ts";
import type { Logger } from "./reporting/log.ts";
import type { Middleware } from "./running/middleware.ts";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const maxIdBytes = 1024;
const handlersHint = "Pass an array of handlers, such as [sendMail.handle(async (input) => { … })].";

function refuse(field: string, message: string, hint: string): never {
  throw new InvalidArgumentError(`Invalid argument: ${field} ${message}`, { field, hint });
}

export function requireTransport<T>(transport: T | undefined): T {
  if (transport === undefined)
    refuse("forge", "must be a JobForge, or have a transport", "Pass new JobForge({ database }).");
  return transport;
}

export function requireOptions(options: unknown): void {
  if (!isObject(options)) refuse("options", "must be an object", "Pass at least { handlers }.");
}

/** Callers from JavaScript may pass the JobForge itself, as they do to `createWorker`. */
export function requireTickOptions(options: unknown): void {
  if (!isObject(options) || "transport" in options)
    refuse("options", "must be one object with forge and handlers", "Pass { forge, handlers }.");
}

export function requireKnown(
  given: object,
  names: readonly string[],
  { what, at = "", aliases }: { readonly what: string; readonly at?: string; readonly aliases: Aliases },
): void {
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name) && value !== undefined)
      refuse(`${at}${name}`, `is not ${what}`, suggest(name, names, aliases));
  }
}

export function requireHandlers(handlers: readonly JobHandler[]): void {
  if (!Array.isArray(handlers)) refuse("handlers", "must be an array", handlersHint);
  if (handlers.length === 0) refuse("handlers", "must contain at least one handler", handlersHint);
  const places = new Map<string, number>();
  for (const [place, handler] of handlers.entries()) {
    const field = `handlers[${place}]`;
    requireHandler(handler, field);
    const { type } = handler.definition;
    const earlier = places.get(type);
    if (earlier !== undefined) {
      const hint = "A type has one handler: remove one of them, or give its definition another type.";
      refuse(field, `has the type "${type}", as handlers[${earlier}] has`, hint);
    }
    places.set(type, place);
  }
}

function requireHandler(handler: unknown, field: string): void {
  if (typeof handler === "function")
    refuse(field, "is a function without a definition", "Bind it: definition.handle(yourFunction).");
  if (!isObject(handler)) refuse(field, "must be a handler", handlersHint);
  const { definition, run, type } = handler;
  if (isObject(definition) && typeof definition["type"] === "string" && typeof run === "function") return;
  if (typeof type === "string")
    refuse(
      field,
      "is a definition, which has no function",
      "Pass definition.handle(async (input) => { … }).",
    );
  refuse(field, "must be a handler", handlersHint);
}

export function requireMaxPerType(
  maxPerType: Readonly<Record<string, number>>,
  handlers: readonly JobHandler[],
): void {
  if (!isObject(maxPerType))
    refuse("maxPerType", "must be an object", 'Pass a number for each type, such as { "video.encode": 2 }.');
  const types = handlers.map(({ definition }) => definition.type);
  for (const [type, cap] of Object.entries(maxPerType)) {
    const field = `maxPerType["${type}"]`;
    requireWhole(field, cap, 1, 100_000);
    if (!types.includes(type))
      refuse(field, "is of a type that has no handler", `The handlers have: ${types.join(", ")}.`);
  }
}

export function requireId(id: string): string {
  const hint = "Pass a text that no other running worker has, or leave it out.";
  if (typeof id !== "string" || id.trim() === "" || id.includes("\u0000"))
    refuse("id", "must be a text that is not empty and contains no NUL character", hint);
  if (Buffer.byteLength(id) > maxIdBytes) refuse("id", `must not be longer than ${maxIdBytes} bytes`, hint);
  return id;
}

export function requireTenant(tenantId: string | undefined): string | undefined {
  if (tenantId !== undefined && (typeof tenantId !== "string" || !uuidPattern.test(tenantId))) {
    const hint = 'For ids of another form, pass tenantId("org_123") of @jobforge/sdk-ts.';
    refuse("tenantId", "must be a uuid", hint);
  }
  return tenantId;
}

export function requireVersion(version: string | undefined): string | undefined {
  if (version !== undefined && (typeof version !== "string" || version === "" || version.length > 200)) {
    const hint = "Pass the version of your application, such as 1.4.2 or a commit.";
    refuse("appVersion", "must be a text of 1 to 200 characters", hint);
  }
  return version;
}

export function requireBoolean(name: string, value: boolean): boolean {
  if (typeof value !== "boolean")
    refuse(name, "must be true or false", "Pass a boolean, or leave the option out.");
  return value;
}

export function requireLogger(logger: Logger): Logger {
  // A logger may be a function with methods.
  const methods = Object(logger) as Readonly<Record<string, unknown>>;
  for (const level of ["debug", "info", "warn", "error"]) {
    if (typeof methods[level] !== "function") {
      const hint = "Pass a logger such as pino's, or an object with debug, info, warn and error.";
      refuse("logger", `must have a method ${level}()`, hint);
    }
  }
  return logger;
}

export function requireHooks(hooks: WorkerHooks): WorkerHooks {
  const hint = "Pass functions, such as { onDead: (event) => { … } }.";
  if (!isObject(hooks)) refuse("hooks", "must be an object of functions", hint);
  requireKnown(hooks, hookNames, { what: "a hook of a worker", at: "hooks.", aliases: hookAliases });
  for (const name of hookNames) {
    const hook: unknown = hooks[name];
    if (hook !== undefined && typeof hook !== "function") refuse(`hooks.${name}`, "must be a function", hint);
  }
  return hooks;
}

export function requireMiddleware(middleware: readonly Middleware[]): readonly Middleware[] {
  const hint = "Pass an array of functions, such as [async (job, next) => await next()].";
  if (!Array.isArray(middleware)) refuse("middleware", "must be an array of functions", hint);
  for (const [place, layer] of middleware.entries()) {
    if (typeof layer !== "function") refuse(`middleware[${place}]`, "must be a function", hint);
  }
  return middleware;
}

export function requireWhole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    const hint = "Pass a number in this range, or leave the option out.";
    refuse(name, `must be a whole number from ${least} to ${most}, not ${String(value)}`, hint);
  }
  return value;
}

/** Checks the number of jobs that one tick may run. */
export function requireTickLimit(limit: number): number {
  return requireWhole("limit", limit, 1, 1_000_000);
}

/** Checks the argument of `tick()`. A number instead of an object would be ignored. */
export function requireTickArgument(options: unknown): void {
  if (typeof options !== "object" || options === null)
    refuse("options", "must be an object", "Pass { limit }, such as { limit: 20 }.");
}

/** Checks the secret of a tick handler: an open endpoint would let any caller run jobs. */
export function requireSecret(secret: unknown): string {
  if (typeof secret !== "string" || secret === "") {
    const hint = "Pass it, or set the environment variable JOBFORGE_TICK_SECRET or CRON_SECRET.";
    refuse("secret", "must be set", hint);
  }
  return secret;
}

/** JavaScript without types may pass any value. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
