/** What a person sees masked must not be written back: the mask would replace the value. */

import { RequestError } from "../errors.ts";
import { memberOf } from "../json-text.ts";
import { isFromSession } from "../session.ts";

/** The body of a request. Refuses a payload of a session that has masks. */
export async function unmaskedBody(c: {
  readonly req: { readonly raw: Request; text(): Promise<string> };
}): Promise<string> {
  const text = await c.req.text();
  if (isFromSession(c.req.raw.headers) && (memberOf(text, "payload")?.text ?? "").includes('"[redacted]"'))
    throw new RequestError(400, "JF002", "The payload has masked values", {
      name: "invalid_argument",
      field: "payload",
      hint: "Show them with POST /v1/jobs/{id}/reveal first, or leave the payload out.",
    });
  return text;
}
