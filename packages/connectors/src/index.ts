/**
 * The entry `@jobforge/connectors`. Where to find things in this folder:
 *
 * - connectors.ts: the handlers for a worker; configuration.ts: what a tenant may set; retries.ts: what is retried
 * - egress/: what may be reached, and requests that are checked on the way
 * - secrets/: references to secrets; artifacts/: large contents outside the database
 * - http/, webhooks/, reports/: one folder for each connector
 * - verify.ts: the entry `@jobforge/connectors/verify` for receivers of webhooks
 */
export type { ArtifactStore, ListedArtifact, PutOptions, StoredArtifact } from "@jobforge/sdk-ts";
export { fileStore } from "./artifacts/file-store.ts";
export { type OpenStoreOptions, openStore } from "./artifacts/open-store.ts";
export { type S3Options, s3Store } from "./artifacts/s3-store.ts";
export { type ConnectorOptions, connectors } from "./connectors.ts";
export type { EgressSource } from "./egress/policies.ts";
export { type EgressDocument, loopbackEgress } from "./egress/policy.ts";
export { ConnectorError, type ConnectorErrorCode, type FailureDetails } from "./errors.ts";
export { type HttpResult, httpRequest } from "./http/definition.ts";
export {
  defineReport,
  type ReportContext,
  type ReportDefinition,
  type ReportRow,
} from "./reports/define-report.ts";
export { type ReportResult, reportGenerate } from "./reports/definition.ts";
export {
  environmentSecrets,
  fileSecrets,
  firstOf,
  type SecretProvider,
  type SecretReference,
} from "./secrets/provider.ts";
export { type WebhookResult, webhookDeliver, webhookRetry } from "./webhooks/definition.ts";
export {
  type DeliveryEndpoint,
  type EndpointFinder,
  endpointKeys,
  type MasterKeys,
  masterKeysOf,
  type ReceiverSecret,
  readMasterKey,
  type WebhookOptions,
  webhookSecrets,
} from "./webhooks/endpoints.ts";
export { deriveKey, type EndpointKey, receiverSecret, type SigningKey } from "./webhooks/signing.ts";
