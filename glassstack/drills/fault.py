"""What a row of the fault table is, and how a fault keeps the files that it changes."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassstack.drills.world import World

Words = dict[str, Any]
Apply = Callable[[World, str, Words], None]


@dataclass(frozen=True)
class Fault:
    """A row. ``takes`` are its words with what they are by default, ``None`` = must be given."""

    layer: str
    about: str
    apply: Apply
    takes: dict[str, Any]
    needs: tuple[str, ...] = ()


def keep(world: World, tag: str, path: Path) -> None:
    """Notes a file as it is now, so that it can be put back."""
    copy = ""
    if path.is_symlink() or path.exists():
        place = world.folder / "kept"
        place.mkdir(exist_ok=True)
        copy = str(place / f"{len(list(place.iterdir()))}-{path.name}")
        shutil.copy2(path, copy, follow_symlinks=False)
    world.journal.note("restore", tag, path=str(path), copy=copy)
