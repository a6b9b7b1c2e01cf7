/** From a workflow definition and an input to a call. */
import { refuse, requireObject } from "../arguments/values.ts";
import { checkPayload } from "../enqueue/payload.ts";
import { JsonText } from "../json.ts";
import { toKeys } from "../rows.ts";
import type { StartOptions, WorkflowDefinition, WorkflowInput } from "./definition.ts";
import { checkStartOptions } from "./option-checks.ts";

/** A start whose input and options have been checked. */
export interface PreparedStart {
  readonly tenantId: string;
  readonly name: string;
  readonly steps: JsonText;
  readonly input: JsonText;
  readonly options: Readonly<Record<string, unknown>>;
}

/** One of many workflows to start: its definition and input, and options of its own. */
export type NewWorkflow<W extends WorkflowDefinition = WorkflowDefinition> = {
  readonly workflow: W;
  readonly input: WorkflowInput<W>;
} & Omit<StartOptions, "tenantId">;

/** The steps of a definition never change, so their text is made once. */
const texts = new WeakMap<object, JsonText>();

function stepsText({ graph }: WorkflowDefinition): JsonText {
  let text = texts.get(graph);
  text ??= new JsonText(JSON.stringify(graph.steps));
  texts.set(graph, text);
  return text;
}

/**
 * Checks a start. Returns a promise only if the schema does: a start in a transaction is then sent before the caller
 * can end the transaction.
 */
export function prepareStart(
  workflow: WorkflowDefinition,
  input: unknown,
  given: StartOptions,
  at = "",
): PreparedStart | Promise<PreparedStart> {
  checkWorkflow(workflow, `${at}workflow`);
  const { tenantId, ...options } = checkStartOptions(given, at);
  const { json, checked } = checkPayload(workflow.input, input, `${at}input`);
  const { name, version, onFailure, retentionDays, graph } = workflow;
  const keys = toKeys({ version, output: graph.output, onFailure, retentionDays, ...onlyGiven(options) });
  const prepared = { tenantId, name, steps: stepsText(workflow), input: json, options: keys };
  return checked instanceof Promise ? checked.then(() => prepared) : prepared;
}

function checkWorkflow(workflow: unknown, field: string): void {
  const hint = "Pass what defineWorkflow() returns.";
  const given = requireObject(workflow, field, hint) as { readonly graph?: unknown; readonly type?: unknown };
  if (given.graph !== undefined) return;
  if (given.type === undefined) refuse(field, "must be a workflow, not another object", hint);
  refuse(
    field,
    "must be a workflow, not the definition of a job",
    "To run one job, pass it to forge.enqueue().",
  );
}

/** The options that are given: an undefined one must not hide what the definition says. */
function onlyGiven(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

export function startArguments({
  tenantId,
  name,
  steps,
  input,
  options,
}: PreparedStart): Record<string, unknown> {
  return { p_tenant_id: tenantId, p_name: name, p_steps: steps, p_input: input, p_options: options };
}

/** A prepared start as an element of `p_workflows` of jobforge_start_workflows. */
export function startJson({ name, steps, input, options }: PreparedStart): string {
  const keys = JSON.stringify({ name, options });
  return `${keys.slice(0, -1)},"steps":${steps.text},"input":${input.text}}`;
}
