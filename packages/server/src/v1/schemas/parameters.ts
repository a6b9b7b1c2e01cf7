/** Parameters of paths and queries that several resources share. */
import { z } from "@hono/zod-openapi";
import { bounds, type Dimension, dimensions } from "@jobforge/sdk-ts";
import { Id } from "./basic.ts";

export const IdParameter = z.object({ id: Id });

export const tenantParameter = {
  tenant_id: Id.optional().openapi({ description: "The tenant. Default: the token's own tenant" }),
};

export const TenantQuery = z.strictObject(tenantParameter);

/** For descriptions of operations whose `tenant_id` has another meaning when it is left out. */
export const operatorSeesAll = "Without `tenant_id`, an operator sees all tenants.";
export const operatorAndReaderSeeAll = "Without `tenant_id`, an operator or a reader sees all tenants.";

const { min, max } = bounds.pageSize;
const defaultLimit = 50;

export const limitParameter = {
  limit: z.coerce
    .number()
    .int()
    .min(min)
    .max(max)
    .default(defaultLimit)
    .openapi({ type: "integer", minimum: min, maximum: max, default: defaultLimit }),
};

const maxValues = 100;

/** One value or several: `status=dead&status=failed`. */
export const several = <S extends z.ZodType>(schema: S): z.ZodType<z.output<S>[] | undefined> =>
  z.preprocess(
    (given) => (typeof given === "string" ? [given] : given),
    z.array(schema).max(maxValues).optional(),
  ) as never;

/** How counts and usage are broken down. */
export const byParameter = {
  by: several(z.enum([...dimensions, "none"])).openapi({
    description: "Return separate rows for each of these. `none`: one row for all. Default: type",
  }),
};

type By = z.output<typeof byParameter.by>;

/** What the kernel takes: an empty list for one row, undefined for its default. */
export function dimensionsOf(by: By): Dimension[] | undefined {
  return by?.filter((each) => each !== "none");
}
