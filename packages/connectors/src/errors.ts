/** Why a connector failed, and whether the same job may succeed later. */

/** The codes of failures. The first group is final, the second is retried. */
export const finalCodes = [
  "blocked_address",
  "blocked_host",
  "blocked_port",
  "blocked_scheme",
  "invalid_url",
  "invalid_header",
  "invalid_payload",
  "redirect_refused",
  "too_large",
  "endpoint_unknown",
  "artifact_unavailable",
] as const;
export const retriedCodes = [
  "http_status",
  "dns_failed",
  "connect_failed",
  "connection_lost",
  "tls_failed",
  "timeout",
  "invalid_response",
  "secret_unavailable",
  "config_unavailable",
  "proxy_unavailable",
] as const;
export type ConnectorErrorCode = (typeof finalCodes)[number] | (typeof retriedCodes)[number];

/** Facts about a failure, stored as `error.details` of the run. They contain no secret and no address. */
export interface FailureDetails {
  readonly code: ConnectorErrorCode;
  readonly status?: number | undefined;
  /** Seconds that the server asked to wait. */
  readonly retry_after?: number | undefined;
  readonly bytes?: number | undefined;
  /** The beginning of the response. */
  readonly preview?: string | undefined;
  /** Whether the request may have reached the server. */
  readonly sent?: boolean | undefined;
}

export class ConnectorError extends Error {
  override readonly name: string = "ConnectorError";
  readonly code: ConnectorErrorCode;
  readonly details: FailureDetails;
  /** Whether a retry of the job can help, if the payload does not say otherwise. */
  readonly isFinal: boolean;

  constructor(
    code: ConnectorErrorCode,
    message: string,
    details: Omit<FailureDetails, "code"> = {},
    isFinal = (finalCodes as readonly string[]).includes(code),
  ) {
    super(message);
    this.code = code;
    this.details = { code, ...details };
    this.isFinal = isFinal;
  }
}

/** The address, name, port or scheme of a target is not allowed. The text never contains a resolved address. */
export class BlockedError extends ConnectorError {
  override readonly name: string = "BlockedError";
}
