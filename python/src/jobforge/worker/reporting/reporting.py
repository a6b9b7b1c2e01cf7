"""The parts with which a worker reports what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .hooks import HookCaller
from .log import WorkerLog
from .meter import Meter
from .report import Report
from .sinks import sink_of
from .trace import Spans, find_tracer

if TYPE_CHECKING:
    from ..options import Settings
    from ..tasks import Tasks


@dataclass(frozen=True, slots=True)
class Reporting:
    log: WorkerLog
    hooks: HookCaller
    meter: Meter
    report: Report
    spans: Spans


def make_reporting(settings: Settings, tasks: Tasks) -> Reporting:
    log = WorkerLog(sink_of(settings.logger), settings.id, shows_stacks=settings.log_stacks)
    hooks = HookCaller(settings.hooks, log, settings.id, tasks)
    meter = Meter()
    return Reporting(
        log=log,
        hooks=hooks,
        meter=meter,
        report=Report(log, hooks, meter.runs),
        spans=Spans(find_tracer(), log),
    )
