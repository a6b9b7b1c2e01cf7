/** Requests whose body is already JSON. The typed client would parse and write it again, and round long numbers. */
import { apiBase } from "./client.ts";
import { problemOf } from "./problem.ts";

export async function sendRaw<T>(
  method: "POST" | "PUT" | "PATCH",
  path: string,
  tenant: string | undefined,
  body: string,
): Promise<T> {
  const query = tenant === undefined ? "" : `?tenant_id=${tenant}`;
  const response = await fetch(`${apiBase}${path}${query}`, {
    method,
    headers: { "content-type": "application/json" },
    body,
    credentials: "same-origin",
  });
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as T;
}

/** One JSON object: the members as usual, and the payload as it is written, with all digits of its numbers. */
export function withPayload(members: object, payload: string): string {
  const rest = JSON.stringify(members).slice(1);
  return `{"payload":${payload}${rest === "}" ? rest : `,${rest}`}`;
}
