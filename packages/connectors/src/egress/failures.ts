/** Turns the errors of sockets, TLS and undici into failures with a code. No text contains an address. */
import { ConnectorError } from "../errors.ts";

const connectCodes = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "ETIMEDOUT", "EACCES"];
const lostCodes = ["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET", "UND_ERR_CLOSED"];
const waits: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_TIMEOUT: "sent no response in time",
  UND_ERR_BODY_TIMEOUT: "stopped sending its response",
};
const tls = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_|DEPTH_ZERO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH|INVALID_CA)/;

export interface FailureContext {
  readonly host: string;
  /** Whether the connection goes through the operator's egress proxy. */
  readonly proxied: boolean;
  readonly timeoutMs: number;
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
      { sent: true },
    );
  return ofCode(codeOf(error), messageOf(error), context);
}

function ofCode(code: string, message: string, { host, proxied }: FailureContext): ConnectorError {
  if (code === "UND_ERR_CONNECT_TIMEOUT" || connectCodes.includes(code)) {
    if (proxied)
      return new ConnectorError("proxy_unavailable", `The egress proxy does not respond (${code}).`, {
        sent: false,
      });
    return code === "UND_ERR_CONNECT_TIMEOUT"
      ? new ConnectorError("timeout", `${host} accepted no connection in time.`, { sent: false })
      : new ConnectorError("connect_failed", `${host} refused the connection (${code}).`, { sent: false });
  }
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
  const wait = waits[code];
  if (wait !== undefined) return new ConnectorError("timeout", `${host} ${wait}.`, { sent: true });
  if (tls.test(code))
    return new ConnectorError("tls_failed", `The TLS connection to ${host} failed (${code}).`, {
      sent: false,
    });
  if (lostCodes.includes(code))
    return new ConnectorError("connection_lost", `${host} closed the connection (${code}).`, { sent: true });
  return new ConnectorError("invalid_response", `${host} sent an invalid response (${code}).`, {
    sent: true,
  });
}

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "unknown";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
