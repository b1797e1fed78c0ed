"""CDI edits put into an OCI configuration: devices with their rules, mounts, environment, hooks.

Owns the meaning of each edit in terms of the runtime specification. Changes
the configuration it is given; starts nothing.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from glassstack.containers.cdi_cache import CdiError, Device

_TYPES = {stat.S_IFBLK: "b", stat.S_IFCHR: "c", stat.S_IFIFO: "p"}


def apply(config: dict[str, Any], devices: Iterable[Device]) -> None:
    """Puts the edits of the devices into a configuration, those of their files once each.

    Raises:
        CdiError: a node of the host that an edit needs is not there.
    """
    seen: set[Path] = set()
    for device in devices:
        if device.path not in seen:
            seen.add(device.path)
            _edit(config, device.spec_edits)
        _edit(config, device.edits)
    config.get("mounts", []).sort(key=_depth)


def _edit(config: dict[str, Any], edits: dict[str, Any]) -> None:
    process = config.setdefault("process", {})
    for text in edits.get("env", ()):
        _set_env(process.setdefault("env", []), text)
    for node in edits.get("deviceNodes", ()):
        _add_node(config, node)
    for net in edits.get("netDevices", ()):
        linux = config.setdefault("linux", {})
        linux.setdefault("netDevices", {})[net["hostInterfaceName"]] = {"name": net["name"]}
    for mount in edits.get("mounts", ()):
        _add_mount(config.setdefault("mounts", []), mount)
    for hook in edits.get("hooks", ()):
        entry = {key: hook[key] for key in ("path", "args", "env", "timeout") if key in hook}
        config.setdefault("hooks", {}).setdefault(hook["hookName"], []).append(entry)
    if "intelRdt" in edits:
        config.setdefault("linux", {})["intelRdt"] = edits["intelRdt"]
    for gid in edits.get("additionalGids", ()):
        groups = process.setdefault("user", {}).setdefault("additionalGids", [])
        if gid and gid not in groups:
            groups.append(gid)


def _set_env(environment: list[str], text: str) -> None:
    name = text.partition("=")[0] + "="
    environment[:] = [one for one in environment if not one.startswith(name)]
    environment.append(text)


def _add_node(config: dict[str, Any], node: dict[str, Any]) -> None:
    entry = _oci_device(node)
    user = config["process"].get("user", {})
    for key in ("uid", "gid"):
        if key not in entry and user.get(key):
            entry[key] = user[key]
    linux = config.setdefault("linux", {})
    others = [one for one in linux.get("devices", []) if one.get("path") != entry["path"]]
    linux["devices"] = [*others, entry]
    if entry["type"] not in ("b", "c"):
        return
    access = {"": "rwm", "none": ""}.get(node.get("permissions", ""), node.get("permissions", ""))
    rule = {"allow": True, "type": entry["type"], "major": entry["major"], "minor": entry["minor"]}
    linux.setdefault("resources", {}).setdefault("devices", []).append(rule | {"access": access})


def _oci_device(node: dict[str, Any]) -> dict[str, Any]:
    """With what the specification leaves out taken from the node of the host."""
    kept = ("path", "type", "major", "minor", "fileMode", "uid", "gid")
    entry = {key: node[key] for key in kept if key in node}
    if "type" in entry and (entry.get("major") or entry["type"] == "p"):
        entry.setdefault("minor", 0)
        return entry
    host = node.get("hostPath") or node["path"]
    try:
        info = os.lstat(host)
        entry["type"] = _TYPES[stat.S_IFMT(info.st_mode)]
    except OSError as error:
        raise CdiError(
            f"no node {host}: {error.strerror}", "load its driver, or write the file anew"
        ) from error
    except KeyError as error:
        raise CdiError(f"{host} is no device node", "correct the specification") from error
    entry |= {"major": os.major(info.st_rdev), "minor": os.minor(info.st_rdev)}
    entry.setdefault("fileMode", stat.S_IMODE(info.st_mode))
    return entry


def _add_mount(mounts: list[dict[str, Any]], mount: dict[str, Any]) -> None:
    target = mount["containerPath"]
    mounts[:] = [one for one in mounts if one.get("destination") != target]
    entry = {"destination": target, "source": mount["hostPath"], "type": mount.get("type", "bind")}
    if "options" in mount:
        entry["options"] = mount["options"]
    elif "type" not in mount:
        entry["options"] = ["bind"]
    mounts.append(entry)


def _depth(mount: dict[str, Any]) -> int:
    """A mount comes after those it lies in."""
    return len([part for part in str(mount.get("destination", "")).split("/") if part])
