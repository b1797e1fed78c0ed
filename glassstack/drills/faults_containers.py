"""Faults of containers, at the seams where a GPU enters one. Rows of the fault table (faults.py).

Each changes a file of the node or the kernel's own state of a running pod, and
restarts the pod where a fault shows at its start only.
"""

import json
from collections.abc import Callable
from typing import Any

from glassstack.drills.containers import IMAGE, SPECIFICATION, cgroup
from glassstack.drills.fault import Fault, Words, keep
from glassstack.drills.world import World

Edits = dict[str, Any]


def _pod_again(world: World, words: Words) -> None:
    world.must(f"pod restart {words['pod']}")


def _specification(world: World, tag: str, change: Callable[[Edits, Edits], None]) -> None:
    """Changes the edits of GPU 0 and those of every device in the CDI specification."""
    file = world.at(SPECIFICATION)
    keep(world, tag, file)
    document = json.loads(file.read_text())
    for device in document["devices"]:
        change(device["containerEdits"], document["containerEdits"])
    file.write_text(json.dumps(document, indent=2) + "\n")


def _nodes(edits: Edits, shared: Edits, name: str) -> list[dict[str, Any]]:
    both = [*edits["deviceNodes"], *shared["deviceNodes"]]
    return [node for node in both if node["path"] == name]


def _spec_node(world: World, tag: str, words: Words) -> None:
    """A node of the specification with another value: fileMode, major, uid …"""

    def change(edits: Edits, shared: Edits) -> None:
        for node in _nodes(edits, shared, words["node"]):
            node[words["key"]] = words["value"]

    _specification(world, tag, change)
    _pod_again(world, words)


def _spec_lacks_node(world: World, tag: str, words: Words) -> None:
    """A specification that was written when the node was not there yet."""

    def change(_: Edits, shared: Edits) -> None:
        shared["deviceNodes"] = [n for n in shared["deviceNodes"] if n["path"] != words["node"]]

    _specification(world, tag, change)
    _pod_again(world, words)


def _spec_lacks_library(world: World, tag: str, words: Words) -> None:
    """A specification without a library of the driver."""

    def change(_: Edits, shared: Edits) -> None:
        shared["mounts"] = [m for m in shared["mounts"] if words["stem"] not in m["hostPath"]]

    _specification(world, tag, change)
    _pod_again(world, words)


def _spec_lacks_hook(world: World, tag: str, words: Words) -> None:
    """A specification without one of its hooks."""

    def change(_: Edits, shared: Edits) -> None:
        shared["hooks"] = [hook for hook in shared["hooks"] if words["hook"] not in hook["args"]]

    _specification(world, tag, change)
    # A container here has no layer of its own: what the last start left lies in the image.
    cache = world.at(f"{IMAGE}/etc/ld.so.cache")
    keep(world, tag, cache)
    cache.unlink(missing_ok=True)
    _pod_again(world, words)


def _spec_old_library(world: World, tag: str, words: Words) -> None:
    """A specification that still brings the driver's libraries of another version, which are there, too."""
    place = world.at("/opt/fakegpu/old")
    for kind, stem in (("umd", "libfakecuda"), ("ml", "libfakeml")):
        place.mkdir(exist_ok=True)
        world.put_library("/opt/fakegpu/old", kind, stem, words["version"], ".so.1")

    def change(_: Edits, shared: Edits) -> None:
        shared["mounts"] = json.loads(_renamed(shared["mounts"], world.node.driver, words["version"]))
        shared["hooks"] = json.loads(_renamed(shared["hooks"], world.node.driver, words["version"]))

    _specification(world, tag, change)
    _pod_again(world, words)


def _renamed(value: Any, old: str, new: str) -> str:
    return (
        json.dumps(value)
        .replace(f".so.{old}", f".so.{new}")
        .replace("/opt/fakegpu/lib/", "/opt/fakegpu/old/")
    )


def _pod_words(world: World, tag: str, words: Words) -> None:
    """Words added to what a pod is started with, and the pod started again."""
    file = world.at(f"/etc/pods.d/{words['pod']}")
    keep(world, tag, file)
    file.write_text(f"{words['add']} {file.read_text()}")
    _pod_again(world, words)


def _pod_replace(world: World, tag: str, words: Words) -> None:
    """Words that a pod is started with, others in place of some, and the pod started again."""
    file = world.at(f"/etc/pods.d/{words['pod']}")
    keep(world, tag, file)
    file.write_text(file.read_text().replace(words["old"], words["new"]))
    _pod_again(world, words)


def _device_list(world: World, tag: str, words: Words) -> None:
    """The device program of a running pod, replaced by one with other rules."""
    world.must(f"minirt devices {words['pod']} '{words['rule']}'")


def _memory_limit(world: World, tag: str, words: Words) -> None:
    """memory.max on an ancestor of the pods' cgroups; it goes with the cgroup."""
    group = cgroup(world)
    if (group / "memory.swap.max").exists():
        (group / "memory.swap.max").write_text("0")
    (group / "memory.max").write_text(str(words["bytes"]))


FAULTS: dict[str, Fault] = {
    "spec-node": Fault(
        "boundary",
        "a node of the CDI specification, changed",
        _spec_node,
        {"node": None, "key": None, "value": None, "pod": "app"},
    ),
    "spec-lacks-node": Fault(
        "boundary",
        "a node that the CDI specification does not have",
        _spec_lacks_node,
        {"node": None, "pod": "app"},
    ),
    "spec-lacks-library": Fault(
        "umd",
        "a driver library that the CDI specification does not bring",
        _spec_lacks_library,
        {"stem": None, "pod": "app"},
    ),
    "spec-lacks-hook": Fault(
        "umd",
        "a hook that the CDI specification does not run",
        _spec_lacks_hook,
        {"hook": None, "pod": "app"},
    ),
    "spec-old-library": Fault(
        "umd",
        "driver libraries of another version in the CDI specification",
        _spec_old_library,
        {"version": None, "pod": "app"},
        ("cc",),
    ),
    "pod-words": Fault("boundary", "what a pod is started with", _pod_words, {"add": None, "pod": "app"}),
    "pod-replace": Fault(
        "boundary",
        "what a pod is started with, changed",
        _pod_replace,
        {"old": None, "new": None, "pod": "app"},
    ),
    "device-list": Fault(
        "boundary",
        "the device program of a running pod, replaced",
        _device_list,
        {"rule": None, "pod": "app"},
    ),
    "memory-limit": Fault("boundary", "memory.max on a parent cgroup", _memory_limit, {"bytes": None}),
}
