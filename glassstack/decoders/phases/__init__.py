"""Phases of a run, as tables that events are matched with: one table per kind of run, in a file of its own.

A new kind of run is a module with a Table, and its row here. Pure.
"""

from glassstack.decoders.phases.container_start import CONTAINER_START
from glassstack.decoders.phases.gpu_start import GPU_START
from glassstack.decoders.phases.matching import Phase, Rule, Table, Tally, Walk

TABLES: dict[str, Table] = {"gpu": GPU_START, "container": CONTAINER_START}
"""By the name that `glassstack compare --phases` takes."""

__all__ = ["TABLES", "Phase", "Rule", "Table", "Tally", "Walk"]
