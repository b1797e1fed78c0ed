"""The steps of container starts, as minirt writes them, and the state it keeps of each container.

Owns where that is and how it is read on: a file is read from where the last
look ended; a half-written line waits for its rest.
"""

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from glassstack.model.entities import Capability
from glassstack.model.events import Event, Step
from glassstack.model.values import Scalar, Source

KEPT, STATE = ".steps", "state.json"
_LINE_MAX = 65536


class State(NamedTuple):
    """A container that minirt knows; ``pid`` of its first process on the host, 0 = none."""

    id: str
    pid: int


class _Line(msgspec.Struct):
    ts: int
    step: str
    pid: int = 0
    id: str = ""
    duration_ns: int = 0
    errno: int = 0
    detail: dict[str, Scalar] = {}


def folders() -> tuple[Path, ...]:
    """Where minirt keeps its states: of root, of this user, and where the environment says."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    own = Path(runtime) / "minirt" if runtime else Path(f"/tmp/minirt-{os.getuid()}")
    named = os.environ.get("MINIRT_STATE_DIR")
    return tuple(dict.fromkeys((*((Path(named),) if named else ()), Path("/run/minirt"), own)))


def states(roots: Sequence[Path] | None = None) -> list[State]:
    """The containers that minirt knows, by id."""
    found = []
    for root in folders() if roots is None else roots:
        try:
            names = sorted(entry for entry in root.iterdir() if entry.is_dir() and entry.name != KEPT)
        except OSError:
            continue
        found += [State(folder.name, _pid(folder)) for folder in names]
    return found


def kept(roots: Sequence[Path] | None = None) -> list[Path]:
    """The files with the steps of the newest starts: the container's id is the stem of the name."""
    return [
        file
        for root in (folders() if roots is None else roots)
        for file in sorted(root.glob(f"{KEPT}/*.jsonl"))
    ]


def _pid(folder: Path) -> int:
    try:
        pid = json.loads((folder / STATE).read_text()).get("pid")
    except (OSError, ValueError, AttributeError):
        return 0
    return pid if isinstance(pid, int) else 0


def step(line: bytes, container: str = "") -> Step | None:
    """A line as an event, ``None`` where it is none."""
    try:
        read = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    name = errno.errorcode.get(read.errno, str(read.errno)) if read.errno else None
    return Step(
        read.ts, Source.FILE, read.id or container, read.pid, read.step, read.detail, name, read.duration_ns
    )


def read_steps(file: Path, container: str = "") -> list[Step]:
    """All steps of a file. Raises OSError."""
    found = (step(line, container) for line in file.read_bytes().splitlines())
    return [one for one in found if one]


class StepCollector:
    """Tells of new steps of every container that minirt knows."""

    name = "steps"

    def __init__(self, roots: Sequence[Path] | None = None, period: float = 0.5) -> None:
        self.period = period
        self._roots = roots
        self._read: dict[tuple[Path, int], int] = {}

    def probe(self) -> Capability:
        """Ready always: without minirt there is nothing to tell."""
        return Capability(self.name, True, "as minirt writes them")

    def sample(self) -> list[Event]:
        """The steps since the last look, in order of time."""
        found: list[Event] = []
        here = set()
        for file in kept(self._roots):
            try:
                key = (file, file.stat().st_ino)
                here.add(key)
                found += self._new(key, file.stem)
            except OSError:
                continue
        self._read = {key: at for key, at in self._read.items() if key in here}
        return sorted(found, key=lambda one: one.ts)

    def _new(self, key: tuple[Path, int], container: str) -> list[Step]:
        begin = self._read.get(key, 0)
        with open(key[0], "rb") as file:
            file.seek(begin)
            data = file.read(1 << 20)
        end = data.rfind(b"\n") + 1
        if not end and len(data) > _LINE_MAX:
            end = len(data)  # no line of ours: passed over, not waited for
        self._read[key] = begin + end
        return [one for one in (step(line, container) for line in data[:end].splitlines()) if one]
