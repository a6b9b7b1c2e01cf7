export { createLogger, type LogOptions } from "./log.ts";
export { type Monitor, type MonitorOptions, monitorWorker } from "./monitor.ts";
export type { DashboardOptions, MetricsOptions, RateLimit, ServerOptions } from "./options.ts";
export { createServer, type JobForgeServer, type ListenOptions } from "./server.ts";
