/** Checks of the options of steps and of starts, before any round trip, with the bounds of the kernel. */
import { checkMaxAttempts, checkPriority } from "../arguments/enqueue.ts";
import { checkTenant } from "../arguments/names.ts";
import {
  type Check,
  checkBoolean,
  checkDate,
  checkGiven,
  checkKnown,
  checkOneOf,
  checkTags,
  checkText,
  refuse,
  requireObject,
  within,
} from "../arguments/values.ts";
import type { Aliases } from "../suggest.ts";
import { bounds, failureActions, timeoutActions } from "../words.ts";
import type { StartOptions } from "./definition.ts";
import type { JobStepOptions, SignalOptions, StepOptions } from "./needs.ts";

type Checks<O> = { readonly [K in keyof O]-?: Check };

/** `needs` has its own check, which needs the list of steps. */
const anything: Check = () => undefined;

const stepChecks: Checks<StepOptions> = { needs: anything, optional: checkBoolean, cleanup: checkBoolean };

const jobStepChecks: Checks<JobStepOptions> = {
  ...stepChecks,
  delayMs: within(bounds.delayMs),
  maxAttempts: checkMaxAttempts,
  priority: checkPriority,
  tags: checkTags,
  subject: checkText,
  concurrencyKey: checkText,
  expiresAt: checkDate,
};

const signalChecks: Checks<SignalOptions> = {
  ...stepChecks,
  signal: checkText,
  timeoutMs: within(bounds.timeoutMs),
  onTimeout: (value, field) => checkOneOf(value, field, timeoutActions),
};

const stepAliases: Aliases = {
  after: "needs",
  dependson: "needs",
  delay: "Did you mean delayMs?",
  timeout: "Did you mean timeoutMs?",
  retries: "Did you mean maxAttempts? It counts all executions: the first one and the retries.",
  idempotencykey:
    "The name of a step is its key. Give the key to the workflow: start(workflow, input, options).",
  dedupekey: "The name of a step is its key. Give the key to the workflow: start(workflow, input, options).",
};

export function checkStepOptions(options: StepOptions, name: string): StepOptions {
  return checkOptions(options, stepChecks, name);
}

export function checkJobStepOptions(options: JobStepOptions, name: string): JobStepOptions {
  return checkOptions(options, jobStepChecks, name);
}

export function checkSignalOptions(options: SignalOptions, name: string): SignalOptions {
  const checked = checkOptions(options, signalChecks, name);
  if (checked.onTimeout !== undefined && checked.timeoutMs === undefined)
    refuse(`steps.${name}.onTimeout`, "has no effect without timeoutMs");
  return checked;
}

function checkOptions<O extends object>(options: O, checks: Checks<O>, name: string): O {
  const at = `steps.${name}.`;
  requireObject(options, `steps.${name}`, "Pass options such as { needs: [draft] }.");
  checkKnown(options, Object.keys(checks), { at, aliases: stepAliases });
  checkGiven(options, at, checks);
  return options;
}

const startChecks: Checks<Omit<StartOptions, "tenantId">> = {
  idempotencyKey: checkText,
  dedupeKey: checkText,
  runAt: checkDate,
  deadline: checkDate,
  timeoutMs: within(bounds.timeoutMs),
  expiresAt: checkDate,
  priority: checkPriority,
  tags: checkTags,
  subject: checkText,
  onFailure: (value, field) => checkOneOf(value, field, failureActions),
  retentionDays: within(bounds.retentionDays),
  traceparent: checkText,
};

const startAliases: Aliases = {
  tenant: "tenantId",
  timeout: "Did you mean timeoutMs, or deadline?",
  delayms: "Did you mean runAt?",
  retention: "Did you mean retentionDays?",
  maxattempts: "It is an option of a step: w.step(name, job, input, { maxAttempts }).",
};

/** Checks the options of a start. `at` is a prefix for the names of fields in errors. */
export function checkStartOptions(options: StartOptions, at = ""): StartOptions {
  requireObject(options, `${at}options`, "Pass at least { tenantId }.");
  checkKnown(options, ["tenantId", ...Object.keys(startChecks)], { at, aliases: startAliases });
  checkTenant(options.tenantId, `${at}tenantId`);
  const { tenantId: _, ...rest } = options;
  checkGiven(rest, at, startChecks);
  if (options.deadline !== undefined && options.timeoutMs !== undefined)
    refuse(`${at}timeoutMs`, "must not be given together with deadline", "Pass one of the two.");
  return options;
}
