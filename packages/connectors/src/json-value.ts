import { z } from "zod";

/** Any JSON value. The SDK has checked its form; `z.json()` would check it again, and end at a few thousand levels. */
export const jsonValue = z.custom<z.core.util.JSONType>((value) => value !== undefined);
