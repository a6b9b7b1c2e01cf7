"""Tests on real databases: fixtures for pytest, and what they are made of.

`call_handler` needs no database. The rest needs `jobforge[postgres]`.
"""

from .assertions import assert_enqueued, refute_enqueued
from .handlers import Child, HandlerCall, call_handler
from .jobs import drain, run_job
from .workflows import run_workflow

__all__ = [
    "Child",
    "HandlerCall",
    "assert_enqueued",
    "call_handler",
    "drain",
    "refute_enqueued",
    "run_job",
    "run_workflow",
]
