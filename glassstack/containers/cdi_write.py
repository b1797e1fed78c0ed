"""A CDI specification for the GPUs of an inventory. Pure, but for the atomic write at the end.

Owns what a container gets: nodes, the driver's libraries at one folder of its
own, the hooks that make them known to the container's loader, and the word
that tells an older hook to bring nothing a second time.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glassstack.containers.cdi_check import minimum_version
from glassstack.containers.inventory import Gpu, Inventory, Node

KIND = "glassstack.dev/gpu"
FOLDER = "/usr/lib/glassstack"
"""Where the driver's libraries are in a container."""
STRATEGIES = ("index", "uuid", "both")
_READ_ONLY = ["ro", "nosuid", "nodev", "rbind", "rprivate"]


def specification(
    inventory: Inventory, libraries: Sequence[Path], hook: Path, strategy: str = "both"
) -> dict[str, Any]:
    """The document.

    Args:
        libraries: NAME.so.VERSION files of the driver on the host.
        hook: fakegpu-hook, a program of the host.
        strategy: one of STRATEGIES: what devices are named by; ``all`` is always there.
    """
    devices: list[dict[str, Any]] = []
    for gpu in inventory.gpus:
        for name in _names(gpu, strategy):
            devices.append({"name": name, "containerEdits": {"deviceNodes": [_node(gpu.node)]}})
    every = [_node(gpu.node) for gpu in inventory.gpus]
    devices.append({"name": "all", "containerEdits": {"deviceNodes": every}})
    document = {
        "cdiVersion": "",
        "kind": KIND,
        "devices": devices,
        "containerEdits": {
            "env": ["FAKEGPU_VISIBLE_DEVICES=void"],
            "deviceNodes": [_node(node) for node in inventory.shared],
            "mounts": [_mount(path) for path in libraries],
            "hooks": _hooks(libraries, hook),
        },
    }
    document["cdiVersion"] = minimum_version(document)
    return document


def text(document: dict[str, Any]) -> str:
    """As the file holds it."""
    return json.dumps(document, indent=2) + "\n"


def write(path: Path, content: str) -> None:
    """Puts a file in place: who reads it sees the old one or the new one, whole. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name of the unfinished one has no suffix that a reader would take.
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _names(gpu: Gpu, strategy: str) -> list[str]:
    by = {"index": [str(gpu.index)], "uuid": [gpu.uuid], "both": [str(gpu.index), gpu.uuid]}
    return [name for name in by[strategy] if name]


def _node(node: Node) -> dict[str, Any]:
    edit: dict[str, Any] = {"path": node.path, "type": "c", "major": node.major, "minor": node.minor}
    edit |= {"fileMode": node.mode, "permissions": "rw"}
    return edit | {key: value for key, value in (("uid", node.uid), ("gid", node.gid)) if value}


def _mount(path: Path) -> dict[str, Any]:
    return {"hostPath": str(path), "containerPath": f"{FOLDER}/{path.name}", "options": _READ_ONLY}


def _hooks(libraries: Sequence[Path], hook: Path) -> list[dict[str, Any]]:
    links = []
    for path in libraries:
        name = path.name.partition(".so.")[0] + ".so"
        links += [f"{path.name}::{FOLDER}/{name}.1", f"{name}.1::{FOLDER}/{name}"]
    words = [word for link in links for word in ("--link", link)]
    return [_hook(hook, "create-symlinks", *words), _hook(hook, "update-ldcache", "--folder", FOLDER)]


def _hook(hook: Path, *arguments: str) -> dict[str, Any]:
    # createContainer: the container's mounts are there, the host's programs still are too.
    return {"hookName": "createContainer", "path": str(hook), "args": [hook.name, *arguments]}
