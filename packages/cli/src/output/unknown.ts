/** What to say about a type or tenant that nothing has: often a typing error, but it may precede the first job. */
import { plain } from "./terminal.ts";

export const unknownType = (type: string): string =>
  `No job, schedule, policy or worker has the type ${plain(type)}. See jobforge types list.`;

export const unknownTenant = (tenantId: string): string =>
  `The tenant ${tenantId} has no jobs, schedules or settings.`;
