"""The panes: one file each, one row here. A pane's module is imported when it is first shown."""

import importlib
from dataclasses import dataclass

from glassstack.tui.look import Look
from glassstack.tui.pane import Pane


@dataclass(frozen=True)
class PaneSpec:
    """A row of the registry: ``id`` is also the module's name, ``key`` the digit that shows it."""

    key: str
    id: str
    title: str
    cls: str
    about: str


PANES: tuple[PaneSpec, ...] = (
    PaneSpec("1", "stack", "stack", "StackPane", "every layer from the program to the device"),
    PaneSpec("2", "calls", "ioctls", "CallsPane", "calls across the boundary, decoded"),
    PaneSpec("3", "maps", "maps", "MapsPane", "device mappings, and rings with their packets"),
    PaneSpec("4", "fences", "fences", "FencesPane", "doorbells, fences, latency"),
    PaneSpec("5", "cgroups", "cgroups", "CgroupsPane", "limits that count, and who sets them"),
    PaneSpec("6", "holders", "holders", "HoldersPane", "who holds the device, and how"),
    PaneSpec("7", "log", "log", "LogPane", "kernel log with Xids explained, program output"),
    PaneSpec("8", "processes", "procs", "ProcessesPane", "processes; Enter watches one"),
    PaneSpec("9", "launches", "api", "LaunchesPane", "functions counted, launches followed to their fence"),
    PaneSpec("0", "containers", "ctr", "ContainersPane", "a container's start, and host and inside compared"),
)


def make(spec: PaneSpec, look: Look) -> Pane:
    """The pane of a row."""
    module = importlib.import_module(f"{__name__}.{spec.id}")
    pane: Pane = getattr(module, spec.cls)(look, id=spec.id)
    return pane
