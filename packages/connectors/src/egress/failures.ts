/** Turns the errors of sockets, TLS and undici into failures with a code. No text contains an address. */
import { ConnectorError } from "../errors.ts";
import type { Waits } from "./agents.ts";

const connectCodes = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "ETIMEDOUT", "EACCES"];
const lostCodes = ["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET", "UND_ERR_CLOSED"];
const tls = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_|DEPTH_ZERO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH|INVALID_CA)/;

export interface FailureContext {
  readonly host: string;
  /** Whether the connection goes through the operator's egress proxy. */
  readonly proxied: boolean;
  readonly timeoutMs: number;
  readonly waits: Waits;
  /** Whether the server may have received something of the request. */
  isSent(): boolean;
  /** Aborted when the total time is over. */
  readonly deadline: AbortSignal;
  /** Aborted when the run has to end. */
  readonly run: AbortSignal;
}

/** Returns the failure of a request. If the run was aborted, returns the reason of that. */
export function failureOf(error: unknown, context: FailureContext): unknown {
  if (error instanceof ConnectorError) return error;
  if (context.run.aborted) return context.run.reason;
  if (context.deadline.aborted)
    return new ConnectorError(
      "timeout",
      `The request to ${context.host} took longer than timeout_ms, ${context.timeoutMs} ms in total.`,
      { sent: context.isSent() },
    );
  return ofCode(codeOf(error), messageOf(error), context);
}

function ofCode(code: string, message: string, context: FailureContext): ConnectorError {
  const { host, proxied, waits } = context;
  const sent = context.isSent();
  const isOfConnecting = code === "UND_ERR_CONNECT_TIMEOUT" || connectCodes.includes(code);
  // Once the request is on its way, these codes say that the connection broke. ETIMEDOUT is then a lost packet.
  if (lostCodes.includes(code) || (sent && (isOfConnecting || tls.test(code))))
    return new ConnectorError("connection_lost", `${host} closed the connection (${code}).`, { sent });
  if (isOfConnecting) return notConnected(code, context);
  // The proxy could not be found, or it refused the target.
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new ConnectorError(
      proxied ? "proxy_unavailable" : "dns_failed",
      `${host} could not be resolved.`,
      {
        sent: false,
      },
    );
  const refused = /Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refused !== undefined)
    return new ConnectorError("connect_failed", `The egress proxy refused ${host} with status ${refused}.`, {
      sent: false,
    });
  if (code === "UND_ERR_BODY_TIMEOUT")
    return new ConnectorError("timeout", `${host} sent nothing for ${waits.betweenBytesMs} ms.`, {
      sent: true,
    });
  if (tls.test(code))
    return new ConnectorError("tls_failed", `The TLS connection to ${host} failed (${code}).`, { sent });
  return new ConnectorError("invalid_response", `${host} sent an invalid response (${code}).`, { sent });
}

function notConnected(code: string, { host, proxied, waits }: FailureContext): ConnectorError {
  const details = { sent: false };
  if (proxied)
    return new ConnectorError("proxy_unavailable", `The egress proxy does not respond (${code}).`, details);
  return code === "UND_ERR_CONNECT_TIMEOUT"
    ? new ConnectorError("timeout", `${host} accepted no connection within ${waits.connectMs} ms.`, details)
    : new ConnectorError("connect_failed", `${host} refused the connection (${code}).`, details);
}

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "unknown";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
