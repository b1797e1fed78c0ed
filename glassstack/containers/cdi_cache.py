"""The CDI specifications of a machine: files in directories to devices by their full names.

Owns reading and precedence: /var/run/cdi wins over /etc/cdi. Two files of one
directory that claim a name make that name unusable, and no other. A bad file
is told of and left out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassstack.containers.cdi_check import Fault, check
from glassstack.containers.cdi_rules import split_name

DIRECTORIES = (Path("/etc/cdi"), Path("/var/run/cdi"))
"""In the order of precedence: the last one wins."""
_YAML = (".yaml", ".yml")
_SIZE_MAX = 8 << 20


class CdiError(Exception):
    """A name or a file can't be used; ``cause`` and ``remedy`` are a line each."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")
        self.cause = cause
        self.remedy = remedy


@dataclass(frozen=True)
class Device:
    """A device of a specification.

    Attributes:
        name: in full, KIND=NAME.
        path: the file it is from.
        edits: its own; before them, once for all devices of the file, come ``spec_edits``.
    """

    name: str
    path: Path
    edits: dict[str, Any]
    spec_edits: dict[str, Any]


@dataclass
class Cache:
    """What was found.

    Attributes:
        devices: by full name.
        faults: what is wrong with files that were left out.
        conflicts: the files of one directory that claim the same name.
    """

    devices: dict[str, Device] = field(default_factory=dict)
    faults: list[tuple[Path, Fault]] = field(default_factory=list)
    conflicts: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    def resolve(self, names: Sequence[str]) -> list[Device]:
        """The devices of full names, in that order, each once. Raises CdiError."""
        for name in names:
            if not split_name(name)[0]:
                raise CdiError(f"{name!r} is no CDI name", "write VENDOR/CLASS=NAME")
            if name in self.conflicts:
                files = ", ".join(map(str, self.conflicts[name]))
                raise CdiError(f"{name} is claimed by {files}", "remove all but one of them")
        unknown = [name for name in names if name not in self.devices]
        if unknown:
            left_out = "; left out: " + ", ".join(str(path) for path, _ in self.faults) if self.faults else ""
            remedy = "see `glassstack cdi list`, or write them with `glassstack cdi generate`"
            raise CdiError(f"unresolvable CDI devices {', '.join(unknown)}{left_out}", remedy)
        return [self.devices[name] for name in dict.fromkeys(names)]


def read(path: Path) -> tuple[Any, list[Fault]]:
    """A decoded file and what is wrong with it."""
    if path.suffix in _YAML:
        remedy = "write it as JSON, as `nvidia-ctk cdi generate --format=json` does"
        return None, [Fault("", "YAML is not read here", remedy)]
    try:
        with path.open("rb") as file:
            data = file.read(_SIZE_MAX + 1)
    except OSError as error:
        return None, [Fault("", f"can't be read: {error.strerror}", "name a file that you may read")]
    if len(data) > _SIZE_MAX:
        return None, [Fault("", "is larger than 8 MiB", "name a CDI specification")]
    try:
        document = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        return None, [Fault("", f"is no JSON: {error}", "correct it there")]
    return document, check(document)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {twice!r} is there twice")
    return members


def load(directories: Sequence[Path] = DIRECTORIES) -> Cache:
    """Reads all directories; one that is not there has nothing."""
    cache = Cache()
    for directory in directories:
        _load_directory(cache, directory)
    return cache


def _load_directory(cache: Cache, directory: Path) -> None:
    claimed: dict[str, list[Device]] = {}
    for path in _files(directory):
        document, faults = read(path)
        cache.faults += [(path, fault) for fault in faults]
        for device in _devices(path, document) if not faults else ():
            claimed.setdefault(device.name, []).append(device)
    for name, devices in claimed.items():
        cache.devices.pop(name, None)
        cache.conflicts.pop(name, None)
        if len(devices) == 1:
            cache.devices[name] = devices[0]
        else:
            cache.conflicts[name] = tuple(device.path for device in devices)


def _files(directory: Path) -> list[Path]:
    try:
        found = sorted(directory.iterdir())
    except OSError:
        return []
    return [path for path in found if path.suffix in (".json", *_YAML) and path.is_file()]


def _devices(path: Path, document: dict[str, Any]) -> list[Device]:
    edits = document.get("containerEdits", {})
    return [
        Device(f"{document['kind']}={one['name']}", path, one["containerEdits"], edits)
        for one in document["devices"]
    ]
