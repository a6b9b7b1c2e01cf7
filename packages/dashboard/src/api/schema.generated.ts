/** Written by `npm run golden` from the server's OpenAPI document. Do not edit. */

export interface paths {
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs, newest first or in another order
         * @description Returns the jobs that match all given filters. Without `tenant_id`, an operator sees all tenants. Pages of summaries are small
         *     whatever the jobs hold. They have more filters and orders, and a `cursor` of their own: filters that no index finds look
         *     at about 10,000 jobs, and `searched_after` then says how far.
         */
        get: operations["listJobs"];
        put?: never;
        /** Enqueue a job */
        post: operations["enqueueJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a job */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change a queued job */
        patch: operations["updateJob"];
        trace?: never;
    };
    "/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A queued job is canceled at once. A running job is canceled when its run ends; its handler is notified.
         */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/reschedule": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a queued, failed or dead job at another time */
        post: operations["rescheduleJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enqueue a new job like this one, with changes
         * @description The job may have any status. The copy has its type, payload, priority, tags, subject and concurrency key, but none of its other keys. It is due now unless `run_at` says otherwise.
         */
        post: operations["copyJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/reveal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show what sessions see masked: payload, progress and result
         * @description In a session, the values of keys that the policy of the type lists in `redact` are masked. The audit log says who asked to see them.
         */
        post: operations["revealJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a job's attempts, first attempt first */
        get: operations["listAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what a job's handler logged, attempt by attempt
         * @description Logs are kept if the policy of the type has `keep_logs`, and appear when the attempt has ended. Secrets are masked.
         */
        get: operations["listLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the result of a job */
        get: operations["getResult"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain why a job is not running now, or how it finished */
        get: operations["explainJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bulk/enqueue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enqueue many jobs, all or none */
        post: operations["enqueueJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bulk/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Count the jobs that match a filter, before changing them
         * @description Counts at most the newest 100,000 jobs; `exact` is false if it stopped there. Without `tenant_id`, an operator sees all tenants.
         */
        post: operations["countJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bulk/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel the jobs that match a filter
         * @description Needs at least one filter. Repeat it with the same `operation` and with `cursor` until `cursor` is null: the requests of one operation look at each job once and have one entry in the audit log. Changes jobs of one tenant; with an `operation` and without `tenant_id`, an operator changes jobs of all tenants.
         */
        post: operations["cancelJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bulk/reschedule": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run the queued, failed or dead jobs that match a filter now
         * @description Needs at least one filter. Repeat it with the same `operation` and with `cursor` until `cursor` is null: the requests of one operation look at each job once and have one entry in the audit log. Changes jobs of one tenant; with an `operation` and without `tenant_id`, an operator changes jobs of all tenants.
         */
        post: operations["rescheduleJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bulk/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete the finished jobs that match a filter before their retention ends
         * @description Needs at least one filter. Repeat it with the same `operation` and with `cursor` until `cursor` is null: the requests of one operation look at each job once and have one entry in the audit log. Changes jobs of one tenant; with an `operation` and without `tenant_id`, an operator changes jobs of all tenants.
         */
        post: operations["purgeJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List failed and dead jobs, grouped by type and error
         * @description Errors that differ only in ids, numbers and quoted texts belong to one group. Covers at most the newest
         *     100,000 jobs. Without `tenant_id`, an operator sees all tenants.
         */
        get: operations["listDeadGroups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts/payloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store a large payload
         * @description Stores the payload of a job that is enqueued next, with the payload `{"$artifact": ref, "bytes", "sha256"}`, through `POST /v1/bulk/enqueue`. Without such a job it is deleted after a day.
         */
        post: operations["storePayload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts/{area}/{id}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download an artifact
         * @description The reference `artifact:reports/TENANT/JOB/NAME` is `/v1/artifacts/reports/JOB/NAME`. The caller must be allowed to read the job.
         */
        get: operations["getArtifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules by type and key, or by their next run
         * @description Without `tenant_id`, an operator sees all tenants.
         */
        get: operations["listSchedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{type}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a schedule */
        get: operations["getSchedule"];
        /**
         * Create a schedule, or update it to match the request
         * @description Requires exactly one of cron, every and dynamic. An existing next run keeps its time unless the rhythm changes.
         */
        put: operations["ensureSchedule"];
        post?: never;
        /** Delete a schedule */
        delete: operations["deleteSchedule"];
        options?: never;
        head?: never;
        /**
         * Change a schedule
         * @description Options that the request leaves out keep their values.
         */
        patch: operations["updateSchedule"];
        trace?: never;
    };
    "/v1/schedules/{type}/{key}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Request a run now, in addition to the next one */
        post: operations["runSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{type}/{key}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enable a schedule. It runs at its next time, or at once if that has passed */
        post: operations["enableSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{type}/{key}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disable a schedule. A current run continues, and the next time is kept */
        post: operations["disableSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{type}/{key}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a schedule's runs, newest first */
        get: operations["listScheduleRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{type}/{key}/next": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show when a schedule runs next
         * @description None if it is disabled, and one if it is dynamic. With a jitter, the times after the first are examples.
         */
        get: operations["listNextRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cron/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Show when a cron expression runs next, before a schedule has it */
        post: operations["previewCron"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the workflows of a tenant, newest first */
        get: operations["listWorkflows"];
        put?: never;
        /**
         * Start a workflow
         * @description All steps are created, or none. Payloads may refer to the input and to results of other steps.
         */
        post: operations["startWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a workflow, with counts of its steps and what it waits for */
        get: operations["getWorkflow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the deadline, the priority or the tags of a workflow that runs
         * @description Priority and tags are those of the steps that have none of their own and do not run yet.
         */
        patch: operations["updateWorkflow"];
        trace?: never;
    };
    "/v1/workflows/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain what a workflow waits for, or how it ended */
        get: operations["explainWorkflow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{id}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the steps of a workflow, in the order in which they were made */
        get: operations["listSteps"];
        put?: never;
        /**
         * Add steps to a workflow that runs
         * @description A step that exists with the same definition is not added again, so a request may be repeated.
         */
        post: operations["addSteps"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{id}/signals/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a signal to a workflow
         * @description The signal is kept until a step takes it. Each is taken once, the oldest first.
         */
        post: operations["sendSignal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a step that ended badly in another way, by hand */
        post: operations["resolveStep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/bulk/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the running workflows that match a filter, the newest first */
        post: operations["cancelWorkflows"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/bulk/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Retry the failed workflows that match a filter, the newest first */
        post: operations["retryWorkflows"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run what ended badly in a workflow again
         * @description Steps that succeeded keep their results, and what was canceled because of a bad end runs, too.
         */
        post: operations["retryWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a workflow
         * @description Queued jobs are canceled at once, running ones are asked to stop, and only steps for cleanup start.
         */
        post: operations["cancelWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the endpoints of a tenant, the oldest first */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Create an endpoint
         * @description It gets the events of jobs that end from now on.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an endpoint */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /** Delete an endpoint, and cancel its deliveries that are queued */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change an endpoint
         * @description Keys that the request leaves out keep their values. Null sets a key to its default.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/v1/webhooks/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enable an endpoint. The deliveries that wait for it go out */
        post: operations["enableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disable an endpoint. Its deliveries wait in the queue */
        post: operations["disableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an endpoint a new signing key. The one before signs as well for a while */
        post: operations["rotateWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send the event webhook.test, on the same way as every other delivery */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what the receiver verifies signatures with, the newest key first
         * @description The server derives it from the master key, so it needs `JOBFORGE_WEBHOOK_MASTER_KEY`. Workers may not read it.
         */
        get: operations["getWebhookSecret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of an endpoint, newest first
         * @description A delivery is a job. Its tag is the type of the event.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver again what failed or is dead, or what the filters select
         * @description Receivers get the same `webhook-id` with a new time.
         */
        post: operations["replayDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send an event of the application to the endpoints that want it */
        post: operations["sendEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List types with their waiting, running and recently finished jobs
         * @description Without `tenant_id`, an operator or a reader sees all tenants.
         */
        get: operations["listTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the default policy, whose `type` is `*`, and those that types have of their own */
        get: operations["listPolicies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/types/{type}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the policy of a type */
        get: operations["getPolicy"];
        put?: never;
        post?: never;
        /**
         * Remove the policy of a type, so that the default applies
         * @description `*` resets the default policy to the values of a new installation.
         */
        delete: operations["resetPolicy"];
        options?: never;
        head?: never;
        /**
         * Change the policy of a type
         * @description Keys that the request leaves out keep their values.
         */
        patch: operations["setPolicy"];
        trace?: never;
    };
    "/v1/gates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the gates that are closed now */
        get: operations["listGates"];
        /** Pause or resume everything, a type or a tenant */
        put: operations["setGate"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the limits */
        get: operations["listLimits"];
        /**
         * Limit how many jobs run at once, or start in a time
         * @description Replaces an existing limit. Without numbers, the key has no limit in this scope, not even the default one.
         */
        put: operations["setLimit"];
        post?: never;
        /** Remove a limit. The jobs that it held back may start */
        delete: operations["removeLimit"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tenants that have settings or have enqueued jobs, by their ids */
        get: operations["listTenants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a tenant's quotas, how much of them is used, and its weight */
        get: operations["getTenant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Set a tenant's quotas and weight
         * @description Keys that the request leaves out keep their values.
         */
        patch: operations["setTenant"];
        trace?: never;
    };
    "/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the workers, most recently seen first */
        get: operations["listWorkers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers/{worker_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a worker, with the jobs that it holds */
        get: operations["getWorker"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers/{worker_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a worker to finish its jobs and stop
         * @description Its next heartbeat, within ten seconds, says so. The worker then claims nothing more, finishes its jobs and stops, as after SIGTERM. A process that starts again with the same id works.
         */
        post: operations["stopWorker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the audit log, newest first
         * @description Without `tenant_id`, an operator sees all tenants.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what needs attention now, the most severe first
         * @description Such as pauses, types without a worker, failing schedules and silent workers.
         *     Without `tenant_id`, an operator or a reader sees all tenants.
         */
        get: operations["listAttention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count jobs by type and status
         * @description Without `tenant_id`, an operator or a reader sees all tenants.
         */
        get: operations["getStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show waiting, running and ended jobs over time
         * @description From samples of each minute, kept for seven days. Steps without samples are left out.
         */
        get: operations["getSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/waiting": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count the jobs that wait, by reason and type
         * @description Counts are bounded; `exact` is false for estimates.
         */
        get: operations["listWaiting"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count the jobs that wait and run now
         * @description Cheap for any number of jobs: above about ten thousand the counts are estimates.
         *     Without `tenant_id`, an operator or a reader sees all tenants.
         */
        get: operations["countLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Report runs: their number, duration, ends and cost
         * @description Without `tenant_id`, an operator or a reader sees all tenants.
         */
        get: operations["reportUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow live counts and finished jobs
         * @description `changed`: how many jobs that match the filter are due (`queued`), `scheduled` for later and running now, and
         *     how many finished since the last event. Large counts are estimates; then `exact` is false. Readers receive counts only. Sent at most four times a second, and only when something changed. `finished`: a job that
         *     finished, without payload and result. `workflow`: a workflow that ended, without input and output; not with a filter by type. `changes`, with `changes=true`: `kinds` of things that were changed, such as
         *     gate, limit, type, schedule, tenant or worker, so that a page that shows them can be read again. `end`: the token is no longer valid. The id of an event is a cursor. A client that
         *     was disconnected sends it as Last-Event-ID and receives the jobs that finished in the meantime. The last two seconds
         *     before the cursor are sent again, so clients should ignore a job that they already know.
         */
        get: operations["stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all keys, also expired and revoked ones */
        get: operations["listTokens"];
        put?: never;
        /** Create a key */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a key, immediately and permanently */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show who is calling and what the caller may do */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin the session of a browser with a key or a JWT
         * @description Sets a cookie with the token that scripts cannot read. It works for requests of pages of this server
         *     only. The session ends with the browser, or when the token expires.
         */
        post: operations["signIn"];
        /** End the session of a browser */
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ui": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how the dashboard is labelled */
        get: operations["getUi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        EnqueuedJob: components["schemas"]["Job"] & ({
            /** @enum {string} */
            outcome: "created" | "existing" | "replaced";
        } & {
            [key: string]: unknown;
        });
        Job: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            type: string;
            /** @description Any JSON value */
            payload?: unknown;
            /** @enum {string} */
            status: "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
            priority: number;
            attempts: number;
            max_attempts: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at: string;
            locked_by: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            locked_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            heartbeat_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            started_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_at: string | null;
            idempotency_key: string | null;
            dedupe_key: string | null;
            subject: string | null;
            tags: string[];
            /** @description Any JSON value */
            progress?: unknown;
            cancel_requested: boolean;
            /** @description Any JSON value */
            error?: unknown;
            last_error: string | null;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            result_id: string | null;
            cost_cents: number | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            updated_at: string;
            uncounted: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at: string | null;
            concurrency_key: string | null;
            traceparent: string | null;
            trace_id: string | null;
            reason: string | null;
        } & {
            [key: string]: unknown;
        };
        Problem: {
            /** @example urn:jobforge:problem:not_cancelable */
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @description An SQLSTATE, such as JF005 */
            code: string;
            /** @description The kernel's name for the error, such as not_cancelable */
            name: string;
            /** @description The part of the request that is wrong */
            field?: string;
            /** @description What to do about it */
            hint?: string;
        } & {
            [key: string]: unknown;
        };
        NewJob: {
            /** @example mail.send */
            type: string;
            /** @description Any JSON value */
            payload?: unknown;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at?: string | null;
            /** @description The job may start after this many milliseconds. Not together with run_at */
            delay_ms?: number | null;
            max_attempts?: number | null;
            priority?: number;
            idempotency_key?: string | null;
            dedupe_key?: string | null;
            /** @enum {string} */
            dedupe_mode?: "skip" | "replace" | "debounce";
            tags?: string[];
            subject?: string | null;
            concurrency_key?: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at?: string | null;
            notify?: components["schemas"]["Notify"];
        };
        /** @description Whom a webhook tells about the end of the job */
        Notify: {
            /** @example https://example.com/hooks */
            url?: string;
            secret?: {
                $secret: string;
            };
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            endpoint_id?: string;
            on?: ("succeeded" | "failed" | "dead" | "canceled")[];
        };
        JobPage: {
            items: (components["schemas"]["Job"] | components["schemas"]["JobSummary"])[];
            /** @description Pass it as `cursor` to get the next page */
            cursor: string | null;
            /**
             * Format: date-time
             * @description Set if a search stopped: it has looked at jobs back to this time. `cursor` goes on from there
             * @example 2026-01-31T12:00:00Z
             */
            searched_after?: string | null;
            caller?: components["schemas"]["Me"];
        } & {
            [key: string]: unknown;
        };
        JobSummary: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            type: string;
            /** @enum {string} */
            status: "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
            /**
             * @description Of a queued job
             * @enum {string|null}
             */
            phase: "due" | "scheduled" | "retrying" | null;
            /** @description A limit has no room for the job */
            parked: boolean;
            priority: number;
            attempts: number;
            uncounted: number;
            max_attempts: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            started_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_at: string | null;
            duration_ms: number | null;
            worker: string | null;
            subject: string | null;
            tags: string[];
            idempotency_key: string | null;
            dedupe_key: string | null;
            concurrency_key: string | null;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            schedule_id: string | null;
            schedule_key: string | null;
            trace_id: string | null;
            cancel_requested: boolean;
            last_error: string | null;
            reason: string | null;
            cost_cents: number | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at: string | null;
            payload_bytes: number;
        } & {
            [key: string]: unknown;
        };
        Me: {
            /** @enum {string} */
            role: "jobforge_tenant" | "jobforge_app" | "jobforge_worker" | "jobforge_operator" | "jobforge_reader";
            /**
             * Format: uuid
             * @description The one tenant of the caller. Null: it acts for all tenants
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            /**
             * @description What the caller presented. `local`: it is the developer of this machine
             * @enum {string}
             */
            kind: "jwt" | "key" | "local";
            /** @description The name of the key; the claim `email`, else `sub`, of the JWT */
            name: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at: string | null;
            /**
             * @description The kernel's functions that the caller may call, without the prefix `jobforge_`
             * @example [
             *       "cancel_jobs",
             *       "list_jobs"
             *     ]
             */
            may: string[];
        } & {
            [key: string]: unknown;
        };
        JobChanges: {
            /** @description Any JSON value */
            payload?: unknown;
            priority?: number;
            tags?: string[];
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at?: string;
        };
        Reschedule: {
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at?: string | null;
            max_attempts?: number | null;
            /** @description Run it with this payload instead of its own */
            payload?: unknown;
        };
        JobCopy: {
            /** @description Any JSON value */
            payload?: unknown;
            priority?: number;
            tags?: string[];
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at?: string | null;
            max_attempts?: number | null;
        };
        Attempt: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            job_id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            attempt_no: number;
            /** @enum {string} */
            status: "running" | "succeeded" | "failed" | "lost" | "deferred" | "released" | "canceled";
            worker_id: string;
            trace_id: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            started_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_at: string | null;
            duration_ms: number | null;
            /** @description Any JSON value */
            error?: unknown;
            /** @description The enqueue handed the job to the worker, without a claim */
            handed: boolean;
        } & {
            [key: string]: unknown;
        };
        JobLog: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            job_id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            attempt_no: number;
            lines: ({
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                at: string;
                /** @enum {string} */
                level: "debug" | "info" | "warn" | "error";
                message: string;
                fields?: {
                    [key: string]: unknown;
                };
                truncated?: boolean;
            } & {
                [key: string]: unknown;
            })[];
            dropped: number;
        } & {
            [key: string]: unknown;
        };
        JobResult: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            type: string;
            /** @enum {string} */
            status: "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
            reason: string | null;
            attempts: number;
            /** @description Any JSON value */
            error?: unknown;
            /** @description Any JSON value */
            result?: unknown;
            artifact_ref: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_at: string | null;
        } & {
            [key: string]: unknown;
        };
        Reason: {
            /** @example paused */
            code: string;
            message: string;
            details: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        Enqueued: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /** @enum {string} */
            outcome: "created" | "existing" | "replaced";
        } & {
            [key: string]: unknown;
        };
        NewJobs: {
            jobs: components["schemas"]["NewJob"][];
        };
        JobCount: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            type: string;
            /** @enum {string} */
            status: "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
            jobs: number;
            exact: boolean;
            /**
             * Format: date-time
             * @description When the first of them was created
             * @example 2026-01-31T12:00:00Z
             */
            oldest_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            newest_at: string;
            /**
             * Format: date-time
             * @description Pass it as `created_before`, so that a change affects no job that came after the count
             * @example 2026-01-31T12:00:00Z
             */
            counted_at: string;
        } & {
            [key: string]: unknown;
        };
        BulkCount: {
            filters?: components["schemas"]["JobFilters"];
            /**
             * @description Count only the jobs that this change would affect
             * @enum {string}
             */
            change?: "cancel" | "reschedule" | "purge";
        };
        JobFilters: {
            status?: ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled") | ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled")[];
            type?: string | string[];
            tags?: string | string[];
            subject?: string;
            error_contains?: string;
            /** @description A group of similar errors, as returned by `GET /v1/dead` */
            error_group?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_after?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_before?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_after?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_before?: string;
            /**
             * @description Of queued jobs
             * @enum {string}
             */
            phase?: "due" | "scheduled" | "retrying";
            /** @description The first digits of the id */
            id_prefix?: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            schedule_id?: string;
            /** @description The worker that runs the job, or that finished it */
            worker?: string;
            concurrency_key?: string;
            idempotency_key?: string;
            trace_id?: string;
            ids?: string[];
            reason?: string | string[];
            tags_any?: string | string[];
            priority?: number;
            attempts_min?: number;
            /** @description Jobs whose payload contains this object or array */
            payload?: unknown;
        };
        BulkResult: {
            matched: number;
            changed: number;
            /** @description The entry of the operation in the audit log */
            audit_id: number;
            /**
             * Format: uuid
             * @description Where the operation goes on. Null: it is done
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            cursor: string | null;
            /** @description Of the operation */
            total: {
                matched: number;
                changed: number;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        BulkChange: {
            filters: components["schemas"]["JobFilters"];
            /** @default 1000 */
            limit: number;
            /**
             * Format: uuid
             * @description An id of your own for all requests of one change. Without tenant_id: jobs of all tenants
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            operation?: string;
            /**
             * Format: uuid
             * @description The `cursor` of the previous request of the operation
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            cursor?: string;
        };
        DeadGroup: {
            /** @description Pass it as a filter to lists and bulk changes */
            error_group: string;
            type: string;
            message: string | null;
            jobs: number;
            tenant_ids: string[];
            tenant_labels: (string | null)[];
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            first_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            last_at: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            newest_job_id: string;
        } & {
            [key: string]: unknown;
        };
        Schedule: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            type: string;
            key: string;
            /** @enum {string} */
            kind: "cron" | "every" | "dynamic";
            cron: string | null;
            timezone: string | null;
            /** @example 5m */
            every: string | null;
            enabled: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            next_run_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            running_since: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            waiting_since: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            last_run_at: string | null;
            last_status: string | null;
            last_error: string | null;
            consecutive_failures: number;
            run_requested: boolean;
            live_runs: number;
            /** @enum {string} */
            overlap: "skip" | "queue" | "allow";
            /** @enum {string} */
            missed: "skip" | "once" | "all";
            /** @description Any JSON value */
            payload?: unknown;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            updated_at: string;
        } & {
            [key: string]: unknown;
        };
        EnsuredSchedule: components["schemas"]["Schedule"] & ({
            /** @enum {string} */
            outcome: "created" | "existing" | "updated";
        } & {
            [key: string]: unknown;
        });
        ScheduleOptions: {
            cron?: string;
            timezone?: string;
            /** @example 5m */
            every?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            anchor?: string | null;
            /** @example 5m */
            jitter?: string | null;
            dynamic?: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            next_run_at?: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            first_run_at?: string | null;
            if_missing?: boolean;
            merge_payload?: {
                [key: string]: unknown;
            };
            reset_failures?: boolean;
            reset?: boolean;
            enabled?: boolean;
            /** @description Any JSON value */
            payload?: unknown;
            priority?: number;
            max_attempts?: number | null;
            /** @description What the job's definition says. It counts if `max_attempts` is not given */
            default_attempts?: number | null;
            tags?: string[];
            subject?: string | null;
            concurrency_key?: string | null;
            /** @enum {string} */
            overlap?: "skip" | "queue" | "allow";
            /** @enum {string} */
            missed?: "skip" | "once" | "all";
            missed_limit?: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            starts_at?: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            ends_at?: string | null;
            retry_runs?: boolean;
        };
        CronPreview: {
            /** @example 30 2 * * 1-5 */
            expression: string;
            /**
             * @description Default: UTC
             * @example Europe/Berlin
             */
            timezone?: string;
            /**
             * Format: date-time
             * @description Default: now
             * @example 2026-01-31T12:00:00Z
             */
            after?: string;
            /** @default 10 */
            count: number;
        };
        StartedWorkflow: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /** @enum {string} */
            outcome: "created" | "existing";
            /** @enum {string} */
            status: "running" | "succeeded" | "failed" | "canceled";
            /** @description The ids of the steps, by name */
            steps: {
                [key: string]: string;
            };
        } & {
            [key: string]: unknown;
        };
        NewWorkflow: {
            /** @example call.process */
            name: string;
            steps: components["schemas"]["NewStep"][];
            /** @description Any JSON value */
            input?: unknown;
            /** @description Any JSON value */
            output?: unknown;
            version?: string;
            idempotency_key?: string;
            dedupe_key?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            run_at?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            deadline?: string;
            timeout_ms?: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at?: string;
            priority?: number;
            tags?: string[];
            subject?: string;
            /** @enum {string} */
            on_failure?: "finish" | "cancel";
            retention_days?: number;
        };
        NewStep: {
            /** @example extract */
            name: string;
            /** @example mail.send */
            type?: string;
            /** @description Any JSON value */
            payload?: unknown;
            map?: {
                /** @description Any JSON value */
                over?: unknown;
            };
            signal?: {
                name?: string;
                timeout_ms?: number;
                /** @enum {string} */
                on_timeout?: "fail" | "continue";
            };
            /** @description A sub-workflow: steps of the same form */
            steps?: ({
                /** @example extract */
                name: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Any JSON value */
            output?: unknown;
            needs?: (string | {
                /** @example extract */
                step: string;
                /** @enum {string} */
                policy?: "cancel" | "run" | "wait" | "compensate";
            })[];
            delay_ms?: number;
            optional?: boolean;
            cleanup?: boolean;
            max_attempts?: number;
            priority?: number;
            tags?: string[];
            subject?: string;
            concurrency_key?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at?: string;
        };
        Workflow: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            name: string;
            version: string | null;
            /** @enum {string} */
            status: "running" | "succeeded" | "failed" | "canceled";
            reason: string | null;
            /** @description Any JSON value */
            input?: unknown;
            /** @description Any JSON value */
            output?: unknown;
            idempotency_key: string | null;
            dedupe_key: string | null;
            subject: string | null;
            tags: string[];
            priority: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            deadline: string | null;
            /** @enum {string} */
            on_failure: "finish" | "cancel";
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            cancel_at: string | null;
            cancel_by: string | null;
            cancel_reason: string | null;
            retention_days: number;
            traceparent: string | null;
            step_count: number;
            /**
             * Format: uuid
             * @description The job whose handler started it and waits for it
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            parent_id: string | null;
        } & {
            [key: string]: unknown;
        };
        WorkflowDetails: components["schemas"]["Workflow"] & ({
            /** @description How many steps have each status */
            counts: {
                [key: string]: number;
            };
            /** @description The signals that the workflow waits for */
            waits: ({
                /**
                 * @description Its name in the whole workflow, such as `each[17]` or `sub/send`
                 * @example extract
                 */
                step: string;
                signal: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                since: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                until?: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Up to 10 steps that ended badly */
            failed: ({
                /**
                 * @description Its name in the whole workflow, such as `each[17]` or `sub/send`
                 * @example extract
                 */
                step: string;
                /** @enum {string} */
                status: "blocked" | "queued" | "running" | "waiting" | "open" | "succeeded" | "failed" | "dead" | "canceled" | "skipped";
                reason: string | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        });
        Step: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            workflow_id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            group_id: string | null;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            /**
             * @description Its name in the whole workflow, such as `each[17]` or `sub/send`
             * @example extract
             */
            path: string;
            name: string | null;
            /** @enum {string} */
            kind: "root" | "job" | "map" | "group" | "signal";
            type: string | null;
            /** @enum {string} */
            status: "blocked" | "queued" | "running" | "waiting" | "open" | "succeeded" | "failed" | "dead" | "canceled" | "skipped";
            reason: string | null;
            needs: ({
                step: string;
                /** @enum {string} */
                policy: "cancel" | "run" | "wait" | "compensate";
            } & {
                [key: string]: unknown;
            })[];
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            job_id: string | null;
            index: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            opened_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            decided_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            ended_at: string | null;
            /** @description Any JSON value */
            payload?: unknown;
            /** @description Any JSON value */
            result?: unknown;
            /** @description Any JSON value */
            error?: unknown;
            cost_cents: number | null;
            optional: boolean;
            cleanup: boolean;
        } & {
            [key: string]: unknown;
        };
        SentSignal: {
            /** @enum {string} */
            outcome: "created" | "existing";
            taken: boolean;
        } & {
            [key: string]: unknown;
        };
        ResolvedStep: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * @description Its name in the whole workflow, such as `each[17]` or `sub/send`
             * @example extract
             */
            step: string;
            status: string;
        } & {
            [key: string]: unknown;
        };
        WorkflowBulkResult: {
            matched: number;
            changed: number;
        } & {
            [key: string]: unknown;
        };
        RetriedWorkflow: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /** @description Steps that have started again */
            retried: number;
            /** @description Steps that wait for these */
            blocked: number;
        } & {
            [key: string]: unknown;
        };
        CanceledWorkflow: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /** @enum {string} */
            status: "running" | "succeeded" | "failed" | "canceled";
            /** @description Queued jobs that were canceled at once */
            canceled: number;
            /** @description Running jobs that were asked to stop */
            requested: number;
        } & {
            [key: string]: unknown;
        };
        AddedSteps: {
            added: number;
            /** @description Steps that were there before, with the same definition */
            existing: number;
        } & {
            [key: string]: unknown;
        };
        WebhookEndpoint: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            url: string;
            description: string | null;
            events: string[];
            job_types: string[];
            tags: string[];
            include: ("payload" | "result")[];
            /** @enum {string} */
            format: "standard" | "cloudevents" | "legacy" | "raw";
            /** @enum {string} */
            signature: "standard" | "both" | "ed25519";
            headers: {
                [key: string]: unknown;
            };
            ordered: boolean;
            retry_schedule: number[] | null;
            /** @description The keys that sign now, the newest first */
            keys: ({
                version: number;
                master_key: string;
                /**
                 * Format: date-time
                 * @description When an older version stops signing
                 * @example 2026-01-31T12:00:00Z
                 */
                until?: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @enum {string} */
            state: "enabled" | "disabled";
            /** @description Why it is disabled */
            reason: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            disabled_at: string | null;
            /**
             * Format: date-time
             * @description Since when every delivery fails
             * @example 2026-01-31T12:00:00Z
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description Until when deliveries are held back
             * @example 2026-01-31T12:00:00Z
             */
            held_until: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            updated_at: string;
        } & {
            [key: string]: unknown;
        };
        NewEndpoint: {
            /** @example https://example.com/hooks */
            url: string;
            description?: string | null;
            /** @description Types of events, such as `job.dead`, `job.*`, `invoice.*`. Default: the four ends of a job */
            events?: string[] | null;
            /** @description Only events of jobs of these types. Default: all */
            job_types?: string[] | null;
            /** @description Only events of jobs that have all of these tags */
            tags?: string[] | null;
            /** @description What events of jobs contain in addition */
            include?: ("payload" | "result")[] | null;
            /** @enum {string|null} */
            format?: "standard" | "cloudevents" | "legacy" | "raw" | null;
            /** @enum {string|null} */
            signature?: "standard" | "both" | "ed25519" | null;
            headers?: {
                [key: string]: string | {
                    $secret: string;
                };
            } | null;
            /** @description One delivery at a time, in the order of the events */
            ordered?: boolean | null;
            /** @description The waits after each failure in seconds. Default: those of the policy */
            retry_schedule?: number[] | null;
            master_key?: string;
        };
        EndpointChanges: {
            /** @example https://example.com/hooks */
            url?: string;
            description?: string | null;
            /** @description Types of events, such as `job.dead`, `job.*`, `invoice.*`. Default: the four ends of a job */
            events?: string[] | null;
            /** @description Only events of jobs of these types. Default: all */
            job_types?: string[] | null;
            /** @description Only events of jobs that have all of these tags */
            tags?: string[] | null;
            /** @description What events of jobs contain in addition */
            include?: ("payload" | "result")[] | null;
            /** @enum {string|null} */
            format?: "standard" | "cloudevents" | "legacy" | "raw" | null;
            /** @enum {string|null} */
            signature?: "standard" | "both" | "ed25519" | null;
            headers?: {
                [key: string]: string | {
                    $secret: string;
                };
            } | null;
            /** @description One delivery at a time, in the order of the events */
            ordered?: boolean | null;
            /** @description The waits after each failure in seconds. Default: those of the policy */
            retry_schedule?: number[] | null;
        };
        EndpointSecrets: {
            items: ({
                version: number;
                /** @description `whsec_…`, or the public key `whpk_…` */
                secret: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                until?: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        DeliveryFilters: {
            status?: ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled") | ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled")[];
            tags?: string | string[];
            error_contains?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_after?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_before?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_after?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            finished_before?: string;
        };
        NewEvent: {
            /** @example invoice.paid */
            type: string;
            /** @description Any JSON value */
            data?: unknown;
            /** @description Receivers ignore an id that they have seen. Default: a new one */
            id?: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            timestamp?: string;
        };
        TypeInfo: {
            type: string;
            due: number;
            scheduled: number;
            running: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            oldest_due_at: string | null;
            succeeded: number;
            failed: number;
            dead: number;
            canceled: number;
            wait_ms: number | null;
            run_ms: number | null;
            /** @description Null for tenants, as `has_policy` */
            workers: number | null;
            paused: boolean;
            has_policy: boolean | null;
            /** @description False if due and scheduled are estimates */
            exact: boolean;
            /** @description False if too many jobs finished to count them: dead then includes failed jobs */
            ended_exact: boolean;
        } & {
            [key: string]: unknown;
        };
        Policy: {
            type: string;
            base_ms: number;
            cap_ms: number | null;
            factor: number;
            jitter: number;
            max_attempts: number;
            timeout_ms: number | null;
            lease_ms: number | null;
            audit_action: string | null;
            keep_history: boolean;
            retention_days: number | null;
            max_priority: number | null;
            redact: string[];
            /** @enum {string} */
            keep_logs: "off" | "failed" | "all";
            by_hand: string[];
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            updated_at: string;
            updated_by: string;
        } & {
            [key: string]: unknown;
        };
        PolicyChanges: {
            /** @enum {string} */
            preset?: "standard" | "quick" | "gentle" | "patient" | "webhook" | "jobforge" | "harmonyk" | "atlas" | "processing";
            base_ms?: number;
            cap_ms?: number | null;
            factor?: number;
            jitter?: number;
            max_attempts?: number;
            timeout_ms?: number | null;
            lease_ms?: number | null;
            audit_action?: string | null;
            keep_history?: boolean;
            retention_days?: number | null;
            max_priority?: number | null;
            redact?: string[];
            /** @enum {string} */
            keep_logs?: "off" | "failed" | "all";
        };
        ResetPolicy: {
            type: string;
            reset: boolean;
            policy: components["schemas"]["Policy"];
        } & {
            [key: string]: unknown;
        };
        Gate: {
            /** @enum {string} */
            scope: "all" | "type" | "tenant";
            key: string;
            reason: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            until: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            set_at: string;
            set_by: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            /** @description Due jobs that this gate holds back */
            waiting: number;
            /** @description False if `waiting` is an estimate */
            exact: boolean;
        } & {
            [key: string]: unknown;
        };
        GateChange: {
            /** @enum {string} */
            scope: "all" | "type" | "tenant";
            /** @description The type or the tenant's id. Leave it out for `all` */
            key?: string | null;
            paused: boolean;
            reason?: string | null;
            /**
             * Format: date-time
             * @description When the pause ends without a further request
             * @example 2026-01-31T12:00:00Z
             */
            until?: string | null;
        };
        ListedLimit: components["schemas"]["Limit"] & ({
            /** @description Null: not counted, because it is a default or has a rate only */
            running: number | null;
            /** @description Due jobs that the limit keeps back */
            waiting: number | null;
            /** @description How many jobs the rate lets start now */
            tokens: number | null;
            /**
             * Format: date-time
             * @description When the next token comes, if there are none
             * @example 2026-01-31T12:00:00Z
             */
            next_at: string | null;
            /** @description False: `waiting` is a lower bound */
            exact: boolean | null;
        } & {
            [key: string]: unknown;
        });
        Limit: {
            /** @enum {string} */
            scope: "type" | "tenant" | "type_tenant" | "key";
            key: string;
            max_running: number | null;
            rate: number | null;
            /** @example 5m */
            per: string | null;
            burst: number | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            set_at: string;
            set_by: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
        } & {
            [key: string]: unknown;
        };
        NewLimit: {
            /**
             * @description What is limited. Each key has its own limit
             * @enum {string}
             */
            scope: "type" | "tenant" | "type_tenant" | "key";
            /**
             * @description The type, the tenant, `TYPE:TENANT` or the concurrency key; `*` for all keys without a limit of their own
             * @example mail.send
             */
            key: string;
            /** @description How many jobs may run at once */
            max_running?: number | null;
            /** @description How many jobs may start in each `per` */
            rate?: number | null;
            /** @example 5m */
            per?: string | null;
            /** @description How many jobs may start at once after a quiet time. Default: `rate` */
            burst?: number | null;
        };
        ListedTenant: components["schemas"]["TenantSettings"] & ({
            /**
             * Format: date-time
             * @description About when the tenant last enqueued a job
             * @example 2026-01-31T12:00:00Z
             */
            seen_at: string | null;
            due: number | null;
            scheduled: number | null;
            running: number | null;
            /**
             * Format: date-time
             * @description Of the due jobs
             * @example 2026-01-31T12:00:00Z
             */
            oldest_run_at: string | null;
            /** @description False: due and scheduled jobs are estimates */
            exact: boolean | null;
            /** @description Runs that ended in this hour and the one before, as the next figures */
            runs: number | null;
            dead: number | null;
            wait_p95_ms: number | null;
            run_ms: number | null;
            cost_cents: number | null;
        } & {
            [key: string]: unknown;
        });
        TenantSettings: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            label: string | null;
            max_pending: number | null;
            max_types: number;
            max_schedules: number;
            weight: number;
        } & {
            [key: string]: unknown;
        };
        Tenant: components["schemas"]["TenantSettings"] & ({
            /** @description Queued and running jobs. Counted only for tenants with a quota */
            pending: number | null;
            /** @description Types in use, counted up to one more than max_types */
            types: number;
        } & {
            [key: string]: unknown;
        });
        TenantChanges: {
            /** @description What people call the tenant. Null: no label */
            label?: string | null;
            /** @description How many queued and running jobs the tenant may have. Null: no limit */
            max_pending?: number | null;
            /** @description How many different types the tenant may use. Null: 1,000 */
            max_types?: number | null;
            /** @description How many schedules the tenant may have. Null: 10,000 */
            max_schedules?: number | null;
            /** @description How many turns the tenant gets for each turn of a tenant with weight 1 */
            weight?: number;
        };
        Worker: {
            id: string;
            /** @enum {string} */
            status: "alive" | "stopped" | "gone";
            instance: string | null;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            started_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            seen_at: string;
            types: string[] | null;
            concurrency: number | null;
            running: number;
            host: string | null;
            pid: number | null;
            version: string | null;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            /**
             * Format: date-time
             * @description When an operator asked it to stop
             * @example 2026-01-31T12:00:00Z
             */
            stop_requested_at: string | null;
            stop_requested_by: string | null;
        } & {
            [key: string]: unknown;
        };
        WorkerDetails: components["schemas"]["Worker"] & ({
            /** @description What the worker reported about itself with its last heartbeat */
            metrics?: unknown;
            /** @description The jobs that it holds, at most 200, the one that has run longest first. Null for readers */
            held: ({
                /**
                 * Format: uuid
                 * @example 0198c5f0-0000-7000-8000-000000000001
                 */
                id: string;
                /**
                 * Format: uuid
                 * @example 0198c5f0-0000-7000-8000-000000000001
                 */
                tenant_id: string;
                /** @description What people call the tenant. Null: it has no label */
                tenant_label: string | null;
                type: string;
                subject: string | null;
                attempt: number;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                started_at: string;
                cancel_requested: boolean;
            } & {
                [key: string]: unknown;
            })[] | null;
        } & {
            [key: string]: unknown;
        });
        AuditEntry: {
            id: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            at: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            actor: string;
            action: string;
            entity_type: string;
            entity_id: string;
            message: string | null;
            /** @description Any JSON value */
            meta?: unknown;
        } & {
            [key: string]: unknown;
        };
        Attention: {
            /** @enum {string} */
            kind: "paused" | "no_worker" | "long_wait" | "at_limit" | "held" | "worker_gone" | "long_runs" | "overdue_schedules" | "failing_schedules" | "dead_spike" | "disabled_webhooks" | "quota_full" | "maintenance";
            /** @enum {string} */
            severity: "error" | "warning";
            /**
             * @description A sentence
             * @example No live worker runs mail.send: 2 jobs are due
             */
            message: string;
            /** @description How many things are affected */
            count: number;
            /** @description False: `count` is an estimate or a lower bound */
            exact: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            since: string | null;
            /**
             * @description What it is about. `type`, `tenant_id` and `key` name one; null: all of them
             * @enum {string}
             */
            target: "gate" | "type" | "schedules" | "dead" | "webhooks" | "tenant" | "workers" | "maintenance";
            type: string | null;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            key: string | null;
        } & {
            [key: string]: unknown;
        };
        Stats: {
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            since: string;
            /** @description False if the counts of live jobs are estimates */
            exact: boolean;
            /** @description False if too many jobs have finished to count them: dead then includes failed jobs */
            ended_exact: boolean;
            totals: {
                queued: number;
                scheduled: number;
                running: number;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                oldest_run_at: string | null;
                succeeded: number;
                failed: number;
                dead: number;
                canceled: number;
            } & {
                [key: string]: unknown;
            };
            types: ({
                type: string;
                queued: number;
                scheduled: number;
                running: number;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                oldest_run_at: string | null;
                succeeded: number;
                failed: number;
                dead: number;
                canceled: number;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        SeriesStep: {
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            start_at: string;
            /** @description Null: all types */
            type: string | null;
            /** @description The largest sample of the step. Null: none was taken */
            due: number | null;
            scheduled: number | null;
            running: number | null;
            exact: boolean | null;
            /** @description Runs that ended */
            runs: number;
            succeeded: number;
            failed: number;
            dead: number;
            wait_p50_ms: number | null;
            wait_p95_ms: number | null;
            run_p50_ms: number | null;
            run_p95_ms: number | null;
        } & {
            [key: string]: unknown;
        };
        Waiting: {
            /** @enum {string} */
            reason: "paused" | "no_worker" | "at_limit" | "due" | "scheduled";
            type: string;
            jobs: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            oldest_run_at: string | null;
            exact: boolean;
        } & {
            [key: string]: unknown;
        };
        LiveCount: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            type: string | null;
            queued: number;
            scheduled: number;
            running: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            oldest_run_at: string | null;
            oldest_ms: number | null;
            /** @description False if the counts are estimates */
            exact: boolean;
        } & {
            [key: string]: unknown;
        };
        Usage: {
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            start_at: string;
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            /** @description What people call the tenant. Null: it has no label */
            tenant_label: string | null;
            type: string | null;
            runs: number;
            succeeded: number;
            failed: number;
            lost: number;
            deferred: number;
            retries: number;
            dead: number;
            cost_cents: number;
            wait_ms: number;
            run_ms: number;
            wait_p50_ms: number | null;
            wait_p95_ms: number | null;
            wait_p99_ms: number | null;
            run_p50_ms: number | null;
            run_p95_ms: number | null;
            run_p99_ms: number | null;
        } & {
            [key: string]: unknown;
        };
        Token: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            name: string;
            prefix: string;
            /** @enum {string} */
            role: "jobforge_app" | "jobforge_worker" | "jobforge_operator" | "jobforge_reader";
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at: string | null;
            created_by: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            last_used_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            revoked_at: string | null;
        } & {
            [key: string]: unknown;
        };
        CreatedToken: {
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            id: string;
            name: string;
            prefix: string;
            /** @enum {string} */
            role: "jobforge_app" | "jobforge_worker" | "jobforge_operator" | "jobforge_reader";
            /**
             * Format: uuid
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at: string | null;
            /** @description The key. No later response shows it again */
            token: string;
        } & {
            [key: string]: unknown;
        };
        NewToken: {
            name: string;
            /** @enum {string} */
            role: "jobforge_app" | "jobforge_worker" | "jobforge_operator" | "jobforge_reader";
            /**
             * Format: uuid
             * @description Required for jobforge_app, not allowed for other roles
             * @example 0198c5f0-0000-7000-8000-000000000001
             */
            tenant_id?: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00Z
             */
            expires_at?: string | null;
        };
        NewSession: {
            /** @description A key or a JWT */
            token: string;
        };
        Ui: {
            title: string;
            /** @example production */
            environment: string | null;
            /** @example #b91c1c */
            color: string | null;
            /**
             * @description The address of a trace. `{trace_id}` stands for its id
             * @example https://traces.example.com/{trace_id}
             */
            trace_url: string | null;
            version: string;
            /** @description Whether a caller needs a token. False for `jobforge dev`, whose page has one */
            signs_in: boolean;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listJobs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                status?: ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled")[];
                type?: string[];
                tags?: string[];
                subject?: string;
                error_contains?: string;
                /** @description A group of similar errors, as returned by `GET /v1/dead` */
                error_group?: string;
                created_after?: string;
                created_before?: string;
                finished_after?: string;
                finished_before?: string;
                /** @description Of queued jobs */
                phase?: "due" | "scheduled" | "retrying";
                /** @description The first digits of the id */
                id_prefix?: string;
                schedule_id?: string;
                /** @description The worker that runs the job, or that finished it */
                worker?: string;
                concurrency_key?: string;
                idempotency_key?: string;
                trace_id?: string;
                ids?: string[];
                reason?: string[];
                /** @description Jobs that have one of these tags */
                tags_any?: string[];
                priority?: number;
                attempts_min?: number;
                /** @description JSON. Jobs whose payload contains it */
                payload?: string;
                /** @description `summary`: without payload, progress and stack. The default with `order` */
                fields?: "all" | "summary";
                /** @description Whether the page also says who is calling, as `GET /v1/me` does */
                caller?: "true" | "false";
                order?: "created" | "oldest" | "run_at" | "started_at" | "finished_at";
                /** @description Only newer jobs: an id, or `TIME~ID` in the order `finished_at` */
                after?: string;
                /** @description The `cursor` of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of jobs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enqueueJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: {
                /** @description The job's idempotency key. A second request with the same key returns the existing job */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description A job with this key existed. `outcome` says whether it was replaced */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnqueuedJob"];
                };
            };
            /** @description The job was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnqueuedJob"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobChanges"];
            };
        };
        responses: {
            /** @description The job after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such job, or its status does not allow the change */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job is canceled, or will be when its run ends */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        id: string;
                        /** @enum {string} */
                        status: "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
                        cancel_requested: boolean;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such job, or its status does not allow the change */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rescheduleJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Reschedule"];
            };
        };
        responses: {
            /** @description The job is queued */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        id: string;
                        /** @enum {string} */
                        status: "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        run_at: string;
                        max_attempts: number;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such job, or its status does not allow the change */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    copyJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobCopy"];
            };
        };
        responses: {
            /** @description Not used */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The new job */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revealJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Without masks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Any JSON value */
                        payload?: unknown;
                        /** @description Any JSON value */
                        progress?: unknown;
                        /** @description Any JSON value */
                        result?: unknown;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAttempts: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                /** @description The `cursor` of the previous page */
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Up to 200 attempts. Empty if the tenant has no such job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Attempt"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listLogs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                /** @description The `cursor` of the previous page */
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Logs of up to 20 attempts. Empty if the tenant has no such job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["JobLog"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getResult: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job's status, and its result or error once it is finished */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResult"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explainJob: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reasons, most important first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Reason"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such job */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enqueueJobs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJobs"];
            };
        };
        responses: {
            /** @description The jobs in the order of the request */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Enqueued"][];
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    countJobs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkCount"];
            };
        };
        responses: {
            /** @description Counts by tenant, type and status, largest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["JobCount"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelJobs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkChange"];
            };
        };
        responses: {
            /** @description How many jobs matched, and how many were changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rescheduleJobs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkChange"];
            };
        };
        responses: {
            /** @description How many jobs matched, and how many were changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    purgeJobs: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkChange"];
            };
        };
        responses: {
            /** @description How many jobs matched, and how many were changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeadGroups: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                status?: ("failed" | "dead")[];
                type?: string[];
                tags?: string[];
                subject?: string;
                error_contains?: string;
                /** @description A group of similar errors, as returned by `GET /v1/dead` */
                error_group?: string;
                created_after?: string;
                created_before?: string;
                finished_after?: string;
                finished_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The largest groups. There is no next page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DeadGroup"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    storePayload: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description The payload is stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ref: string;
                        bytes: number;
                        sha256: string;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server has no store */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getArtifact: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                /** @description What it is: `reports`, `http`, `results` or `payloads` */
                area: string;
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content, as an attachment */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such artifact, or the server has no store */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSchedules: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                type?: string[];
                enabled?: "true" | "false";
                failing?: "true" | "false";
                due?: "true" | "false";
                overdue?: "true" | "false";
                running?: "true" | "false";
                key_prefix?: string;
                order?: "name" | "next_run_at";
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of schedules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Schedule"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ensureSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleOptions"];
            };
        };
        responses: {
            /** @description The schedule, and whether it was created, existed or was updated */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnsuredSchedule"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        id: string;
                        deleted: boolean;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleOptions"];
            };
        };
        responses: {
            /** @description The schedule after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    runSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enableSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    disableSchedule: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listScheduleRuns: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                status?: ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled")[];
                cursor?: string;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Job"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listNextRuns: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                count?: number;
            };
            header?: never;
            path: {
                type: string;
                /** @description Identifies the schedule within its type */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The next times */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: string[];
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such schedule */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    previewCron: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CronPreview"];
            };
        };
        responses: {
            /** @description The next times */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: string[];
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWorkflows: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                name?: string;
                status?: ("running" | "succeeded" | "failed" | "canceled")[];
                subject?: string;
                tags?: string[];
                created_after?: string;
                created_before?: string;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of workflows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Workflow"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    startWorkflow: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWorkflow"];
            };
        };
        responses: {
            /** @description A workflow with this key existed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedWorkflow"];
                };
            };
            /** @description The workflow was started */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedWorkflow"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWorkflow: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDetails"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such workflow */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateWorkflow: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Null removes it
                     * @example 2026-01-31T12:00:00Z
                     */
                    deadline?: string | null;
                    priority?: number;
                    tags?: string[];
                };
            };
        };
        responses: {
            /** @description The workflow */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such workflow, or it has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explainWorkflow: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reasons, most important first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Reason"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such workflow */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSteps: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                status?: ("blocked" | "queued" | "running" | "waiting" | "open" | "succeeded" | "failed" | "dead" | "canceled" | "skipped")[];
                kind?: ("root" | "job" | "map" | "group" | "signal")[];
                /** @description The path of a map or a sub-workflow: its steps only */
                group?: string;
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of steps. Empty if the tenant has no such workflow */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Step"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    addSteps: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description They may need steps that the workflow has */
                    steps: components["schemas"]["NewStep"][];
                };
            };
        };
        responses: {
            /** @description How many were added */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedSteps"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such workflow, it has ended, or a step exists with another definition */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sendSignal: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Any JSON value */
                    payload?: unknown;
                    /** @description A signal with the same name and key is sent only once */
                    key?: string;
                };
            };
        };
        responses: {
            /** @description Whether it was sent, or was sent before with this key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SentSignal"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such workflow, or it has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resolveStep: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Its name in the whole workflow, such as `each[17]` or `sub/send`
                     * @example extract
                     */
                    step: string;
                    /** @enum {string} */
                    status: "succeeded" | "skipped";
                    /** @description Any JSON value */
                    result?: unknown;
                };
            };
        };
        responses: {
            /** @description The step has ended so */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResolvedStep"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such workflow or step, or nothing in it ended badly */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelWorkflows: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description At least one */
                    filters: {
                        name?: string | string[];
                        status?: ("running" | "succeeded" | "failed" | "canceled") | ("running" | "succeeded" | "failed" | "canceled")[];
                        subject?: string;
                        tags?: string | string[];
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        created_after?: string;
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        created_before?: string;
                    };
                    /** @description Default 100 */
                    limit?: number;
                };
            };
        };
        responses: {
            /** @description How many workflows matched, and how many were changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowBulkResult"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retryWorkflows: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description At least one */
                    filters: {
                        name?: string | string[];
                        status?: ("running" | "succeeded" | "failed" | "canceled") | ("running" | "succeeded" | "failed" | "canceled")[];
                        subject?: string;
                        tags?: string | string[];
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        created_after?: string;
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        created_before?: string;
                    };
                    /** @description Default 100 */
                    limit?: number;
                };
            };
        };
        responses: {
            /** @description How many workflows matched, and how many were changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowBulkResult"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retryWorkflow: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Default: all that ended badly */
                    steps?: string[];
                    /** @description Also run again what followed them */
                    downstream?: boolean;
                    /** @description Handlers with durable steps begin anew, without their checkpoints and ended children */
                    reset?: boolean;
                };
            };
        };
        responses: {
            /** @description What runs again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetriedWorkflow"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such workflow or step, or nothing in it ended badly */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelWorkflow: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description The workflow ends when its last job has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CanceledWorkflow"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such workflow, or it has ended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All endpoints of the tenant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["WebhookEndpoint"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEndpoint"];
            };
        };
        responses: {
            /** @description The endpoint */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many deliveries were canceled */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        id: string;
                        deleted: boolean;
                        canceled: number;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndpointChanges"];
            };
        };
        responses: {
            /** @description The endpoint after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enableWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    disableWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description How long the key before signs as well. Default: 24 hours
                     * @example 5m
                     */
                    keep?: string;
                    master_key?: string;
                };
            };
        };
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ids of the event and of the delivery */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        id: string;
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        job_id: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWebhookSecret: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secrets, or public keys */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointSecrets"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint, or the server has no master key */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                status?: ("queued" | "running" | "succeeded" | "failed" | "dead" | "canceled")[];
                tags?: string[];
                error_contains?: string;
                created_after?: string;
                created_before?: string;
                finished_after?: string;
                finished_before?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Job"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replayDeliveries: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    filters?: components["schemas"]["DeliveryFilters"];
                    limit?: number;
                };
            };
        };
        responses: {
            /** @description How many deliveries matched, and how many go out again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        matched: number;
                        replayed: number;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The tenant has no such endpoint */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sendEvent: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEvent"];
            };
        };
        responses: {
            /** @description The id of the event, and the jobs that deliver it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        deliveries: string[];
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTypes: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                /** @description Counts jobs that finished within this time, at most seven days. Default: one hour */
                span?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All types, or those that the tenant uses */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["TypeInfo"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listPolicies: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `cursor` of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of policies, in the order of their types */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Policy"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The type, or `*` for all types without a policy of their own */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The type's policy, or the default policy, whose `type` is `*` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resetPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The type, or `*` for all types without a policy of their own */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether there was a policy, and the one that applies now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResetPolicy"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The type, or `*` for all types without a policy of their own */
                type: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyChanges"];
            };
        };
        responses: {
            /** @description The whole policy */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listGates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All closed gates */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Gate"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setGate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GateChange"];
            };
        };
        responses: {
            /** @description The gate */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        scope: "all" | "type" | "tenant";
                        key: string;
                        paused: boolean;
                        reason: string | null;
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        until: string | null;
                        /** @description Whether the gate was closed before */
                        was_paused: boolean;
                        /** @description False if no job, schedule, policy, worker or setting has this type or tenant */
                        known: boolean;
                        /** @description The entry in the audit log. Null: nothing changed */
                        audit_id: number | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listLimits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All limits, with their use now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ListedLimit"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setLimit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewLimit"];
            };
        };
        responses: {
            /** @description The limit */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Limit"] & ({
                        /** @description False if no job, schedule, policy, worker or setting has this type or tenant */
                        known: boolean;
                    } & {
                        [key: string]: unknown;
                    });
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    removeLimit: {
        parameters: {
            query: {
                /** @description What is limited. Each key has its own limit */
                scope: "type" | "tenant" | "type_tenant" | "key";
                /** @description The type, the tenant, `TYPE:TENANT` or the concurrency key; `*` for all keys without a limit of their own */
                key: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether the limit existed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        scope: string;
                        key: string;
                        removed: boolean;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTenants: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `cursor` of the previous page */
                cursor?: string;
                /** @description Part of a label, or an id */
                search?: string;
                /** @description Whether to count jobs and runs, for pages of at most 100 */
                figures?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tenants */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ListedTenant"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant's settings, or the defaults */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantChanges"];
            };
        };
        responses: {
            /** @description The settings after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantSettings"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWorkers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All workers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Worker"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWorker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                worker_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The worker */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerDetails"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stopWorker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                worker_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        requested_at: string;
                        requested_by: string;
                        /** @description The entry in the audit log */
                        audit_id: number;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such worker */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                limit?: number;
                action?: string;
                entity_type?: string;
                entity_id?: string;
                actor?: string;
                after?: string;
                before?: string;
                /** @description The `cursor` of the previous page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the log */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AuditEntry"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAttention: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Up to 200 things. There is no next page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Attention"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getStats: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                /** @description Counts jobs that finished after this time. Default: one hour ago */
                since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSeries: {
        parameters: {
            query?: {
                /** @description Default: an hour before `to`. At most seven days ago */
                from?: string;
                /** @description Default: now */
                to?: string;
                /** @description From 1 minute, the default, to 1 day */
                step?: string;
                /** @description A series for each of these types. Default: one for all types */
                type?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Up to 1,500 steps for each type, in order of time */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SeriesStep"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWaiting: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts, largest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Waiting"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    countLive: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                /** @description Return separate rows for each of these. `none`: one row for all. Default: type */
                by?: ("tenant" | "type" | "none")[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["LiveCount"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reportUsage: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                /** @description Rounded down to the full hour. Default: one day ago */
                from?: string;
                /** @description Default: now */
                to?: string;
                /** @description The time that one row covers. Default: hour */
                bucket?: "hour" | "day" | "week" | "month" | "total";
                /** @description Return separate rows for each of these. `none`: one row for all. Default: type */
                by?: ("tenant" | "type" | "none")[];
                type?: string[];
                /** @description The time zone in which days, weeks and months begin. Default: UTC */
                timezone?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rows in order of time */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Usage"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the token's own tenant */
                tenant_id?: string;
                type?: string[];
                subject?: string;
                /** @description Whether to send `changes`: what else was changed */
                changes?: "true" | "false";
            };
            header?: {
                "last-event-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All keys, without their secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Token"][];
                        /** @description Pass it as `cursor` to get the next page. Null on the last page */
                        cursor: string | null;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description The key. No later response shows it again */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is no longer valid */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @example 0198c5f0-0000-7000-8000-000000000001
                         */
                        id: string;
                        name: string;
                        prefix: string;
                        /**
                         * Format: date-time
                         * @example 2026-01-31T12:00:00Z
                         */
                        revoked_at: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such key */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSession"];
            };
        };
        responses: {
            /** @description The caller. The header Set-Cookie has the session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description The request is malformed, or the kernel rejects an argument */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this operation, or not for this tenant */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The body of the request is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this caller or address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database cannot be reached or is overloaded */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session has ended, if there was one */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A page of another origin sent the request */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests of this address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The labels. They need no token */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ui"];
                };
            };
            /** @description Too many requests of this address */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
