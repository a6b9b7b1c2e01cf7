"""Runs jobs: a worker claims, runs and settles the jobs of its types, until it is stopped."""

from .defaults import WORKER_TIMEOUT
from .handlers import HandlerSource, handlers_of
from .monitor import Monitor
from .options import WorkerOptions
from .reporting.hooks import Hooks, RunEnded, RunFailed, RunInfo, RunSuspended, Trouble, TroubleOver
from .reporting.log import JobLogFilter
from .reporting.meter import LATENCY_BINS, LatencyBin, Tally, WorkerMetrics
from .reporting.sinks import Logger
from .running.current import current_job
from .running.middleware import Middleware, Next
from .tick_app import TickWsgiApp, tick_app
from .worker import TickSummary, Worker

__all__ = [
    "LATENCY_BINS",
    "WORKER_TIMEOUT",
    "HandlerSource",
    "Hooks",
    "JobLogFilter",
    "LatencyBin",
    "Logger",
    "Middleware",
    "Monitor",
    "Next",
    "RunEnded",
    "RunFailed",
    "RunInfo",
    "RunSuspended",
    "Tally",
    "TickSummary",
    "TickWsgiApp",
    "Trouble",
    "TroubleOver",
    "Worker",
    "WorkerMetrics",
    "WorkerOptions",
    "current_job",
    "handlers_of",
    "tick_app",
]
