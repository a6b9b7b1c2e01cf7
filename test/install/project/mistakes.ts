/** Every line marked with an expected error must be one: types that are `any` would accept them all. */
import { defineJob, type JobForge, typed } from "jobforge";
import { assertEnqueued, type TestConnection, type TestServerOptions } from "jobforge/testing";

const square = defineJob({ type: "math.square", input: typed<{ n: number }>(), output: typed<number>() });

export async function mistakes(forge: JobForge, connection: TestConnection): Promise<void> {
  const tenantId = "11111111-1111-4111-8111-111111111111";
  // @ts-expect-error the input is not a text
  await forge.enqueue(square, { n: "6" }, { tenantId });
  // @ts-expect-error the tenant is missing
  await forge.enqueue(square, { n: 6 }, {});
  const job = await forge.enqueue(square, { n: 6 }, { tenantId });
  // @ts-expect-error the output is a number
  const text: string = await job.result();
  // @ts-expect-error the payload has no such property
  await assertEnqueued(forge, { job: square, payload: { m: text } });
  // @ts-expect-error a client of pg has no such method
  connection.client.queryAll();
}

export const options: TestServerOptions = {
  // @ts-expect-error a client of pg has no such method
  prepare: (client) => client.queryAll(),
};
