"""The registry of measures: a module per subject, each with MEASURES: name → function(runs) → results.

A new measure is a function in one of these modules and one line in its MEASURES.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from harness import Result

Measure = Callable[[int], list[Result]]
SUBJECTS = (
    "startup",
    "equality",
    "tracing",
    "device",
    "screen",
    "wire",
    "ebpf",
    "latency",
    "lab",
    "strace",
    "containers",
    "diagnosis",
)


def all_measures() -> dict[str, Measure]:
    """Name → measure, in the order of the table."""
    found: dict[str, Measure] = {}
    for subject in SUBJECTS:
        found.update(import_module(f"measures.{subject}").MEASURES)
    return found
