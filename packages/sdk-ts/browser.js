/** What a bundle for browsers gets instead of the SDK: the reason why there is none. */
const nothing = refuse();

function refuse() {
  throw new Error(
    "@jobforge/sdk-ts does not run in a browser: it needs a database's URL or a server's token, which must not reach one. " +
      "Import it on the server only, and let the browser call an endpoint of yours that enqueues.",
  );
}

export {
  nothing as canRetry,
  nothing as checkInput,
  nothing as checkOutput,
  nothing as ConnectionError,
  nothing as DatabaseError,
  nothing as DEFAULT_MAX_ATTEMPTS,
  nothing as defineJob,
  nothing as defineSchedule,
  nothing as ForbiddenError,
  nothing as getBackoffDelayMs,
  nothing as globalTenant,
  nothing as httpTransport,
  nothing as InvalidArgumentError,
  nothing as InvalidScheduleError,
  nothing as InvalidStatusError,
  nothing as InvalidValueError,
  nothing as JobCanceledError,
  nothing as JobFailedError,
  nothing as JobForge,
  nothing as JobForgeError,
  nothing as JobForgeJobQueue,
  nothing as JobForgeJobsRepository,
  nothing as JobLimitExceededError,
  nothing as JobNotFoundError,
  nothing as JobNotHeldError,
  nothing as JsonText,
  nothing as jobJson,
  nothing as MemoryJobQueue,
  nothing as makeJobDedupeKey,
  nothing as maxPayloadBytes,
  nothing as NotCancelableError,
  nothing as NotInstalledError,
  nothing as NotReschedulableError,
  nothing as NotUpdatableError,
  nothing as PayloadTooLargeError,
  nothing as policyOf,
  nothing as postgresTransport,
  nothing as prepareJob,
  nothing as retryPresets,
  nothing as ScheduleNotFoundError,
  nothing as TenantRequiredError,
  nothing as TimeoutError,
  nothing as toJson,
  nothing as toStorableJson,
  nothing as typed,
  nothing as WaitTimeoutError,
};
