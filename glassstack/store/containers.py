"""A container beside its host, out of a snapshot: what each sees, and what differs. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from glassstack.decoders.nodes import node_of
from glassstack.model.entities import Container, Device, DeviceList, DeviceNode, DeviceRule, World
from glassstack.model.events import Step

CAPABILITIES = 41
"""How many there are (CAP_CHECKPOINT_RESTORE = 40 is the last)."""


@dataclass(frozen=True)
class Contrast:
    """One line of the comparison; ``differs`` where the container's answer is its own."""

    group: str
    what: str
    host: str
    inside: str
    differs: bool


def access(devices: DeviceList, kind: str, major: int, minor: int) -> str | None:
    """What a device list allows on a device, out of "rwm"; ``None`` where the list is not known."""
    if devices.rules is None:
        return None
    fitting = [rule for rule in devices.rules if _fits(rule, kind, major, minor)]
    return max(fitting, key=_narrowness).access if fitting else ""


def _fits(rule: DeviceRule, kind: str, major: int, minor: int) -> bool:
    return rule.kind == kind and rule.major in (None, major) and rule.minor in (None, minor)


def _narrowness(rule: DeviceRule) -> int:
    return (rule.major is not None) + (rule.minor is not None)


def lost(container: Container, steps: Iterable[Step]) -> str:
    """What became of the device list that the start attached, "" while it is in force.

    A manager that writes its own list over the runtime's (as systemd does when
    it reloads) takes the devices away that only the runtime knew of.
    """
    attached = [step for step in steps if step.name == "device-rules" and not step.errno]
    if not attached or container.devices.missing:
        return ""
    mine = [one for one in container.devices.programs if one.attached == container.devices.cgroup]
    program = attached[-1].detail.get("program")
    if not mine:
        return "the device list of its start is gone"
    if program is not None and all(one.id != program for one in mine):
        return f"the device list of its start (program {program}) was replaced"
    return ""


def rule_text(rule: DeviceRule) -> str:
    """``c 1:3 rwm``, ``c 136:* rw``; a denial says so."""
    numbers = ":".join("*" if number is None else str(number) for number in (rule.major, rule.minor))
    return f"{rule.kind} {numbers} {rule.access or 'denied'}"


def contrasts(host: World, container: Container, devices: Iterable[Device] = ()) -> list[Contrast]:
    """Everything that is worth comparing, by group; ``devices`` tell who let its opens pass."""
    return [
        *_processes(container),
        *_names(host, container.world),
        *_namespaces(host, container.world),
        *_nodes(host, container, _decided(container, devices)),
        *_libraries(host, container.world),
        *_privileges(host, container.world),
        *_mounts(host, container.world),
    ]


def _processes(container: Container) -> Iterator[Contrast]:
    for outside, inside, command in container.world.processes:
        yield Contrast("processes", command, f"pid {outside}", f"pid {inside}", outside != inside)


def _names(host: World, inside: World) -> Iterator[Contrast]:
    yield _pair("names", "host name", host.hostname, inside.hostname)
    own = host.namespaces.get("cgroup") != inside.namespaces.get("cgroup")
    yield Contrast("names", "cgroup", inside.cgroup, "/ (its own root)" if own else inside.cgroup, own)
    yield _pair("names", "user ids", host.uid_map, inside.uid_map)


def _pair(group: str, what: str, host: str, inside: str) -> Contrast:
    return Contrast(group, what, host or "-", inside or "-", host != inside)


def _namespaces(host: World, inside: World) -> Iterator[Contrast]:
    for kind, number in inside.namespaces.items():
        outer = host.namespaces.get(kind)
        text = "the host's" if outer == number else str(number)
        yield Contrast("namespaces", kind, str(outer or "-"), text, outer != number)


def _node_text(node: DeviceNode | None) -> str:
    return f"{node.major}:{node.minor} {node.mode:04o} {node.owner}" if node else "-"


def _decided(container: Container, devices: Iterable[Device]) -> dict[str, str]:
    """By node that it has opened: who decided that it may."""
    pids = {outside for outside, _, _ in container.world.processes}
    return {
        device.path: "; opened: the kernel's verdict" if context.rules == "kernel" else "; opened: emulated"
        for device in devices
        for context in device.opened
        if context.pid in pids
    }


def _nodes(host: World, container: Container, decided: dict[str, str]) -> Iterator[Contrast]:
    """Nodes that the container has, and GPU nodes that only the host has."""
    if host.nodes and host.nodes == container.world.nodes:
        many = f"{len(host.nodes)} nodes"
        yield Contrast("nodes", "/dev", many, "the host's", False)
        return
    theirs = {node.path: node for node in container.world.nodes}
    ours = {node.path: node for node in host.nodes}
    gpus = [path for path in ours if node_of(path) and path not in theirs]
    for path in [*theirs, *gpus]:
        inside = theirs.get(path)
        text = _node_text(inside)
        if inside:
            allowed = access(container.devices, inside.kind, inside.major, inside.minor)
            verdict = "list not known" if allowed is None else f"allowed {allowed}" if allowed else "denied"
            text += f", {verdict}{decided.get(path, '')}"
        yield Contrast("nodes", path, _node_text(ours.get(path)), text, bool(node_of(path)) or inside is None)


def _libraries(host: World, inside: World) -> Iterator[Contrast]:
    kinds = dict.fromkeys(library.what for library in (*host.libraries, *inside.libraries))
    for kind in kinds:
        texts = [
            ", ".join(
                f"{library.version} {library.path}" for library in world.libraries if library.what == kind
            )
            for world in (host, inside)
        ]
        yield _pair("libraries", kind, *texts)


def _privileges(host: World, inside: World) -> Iterator[Contrast]:
    counts = [f"{world.capabilities.bit_count()} of {CAPABILITIES}" for world in (host, inside)]
    yield _pair("privileges", "capabilities", *counts)
    yield _pair("privileges", "seccomp", host.seccomp, inside.seccomp)
    yield _pair("privileges", "no new privs", *("yes" if w.no_new_privs else "no" for w in (host, inside)))


def _mounts(host: World, inside: World) -> Iterator[Contrast]:
    if host.namespaces.get("mnt") == inside.namespaces.get("mnt"):
        yield Contrast("mounts", "all", "", "the host's", False)
        return
    there = {mount.target: mount for mount in host.mounts}
    for mount in inside.mounts:
        outer = there.get(mount.target)
        text = f"{mount.type} {mount.root if mount.root != '/' else mount.source} {_options(mount.options)}"
        yield Contrast("mounts", mount.target, outer.type if outer else "-", text, outer is None)


def _options(options: str) -> str:
    """Those that limit something."""
    wanted = ("ro", "nosuid", "nodev", "noexec")
    return ",".join(option for option in options.split(",") if option in wanted)


def of_id(containers: Iterable[Container], name: str) -> Container | None:
    """The container with that id or a beginning of it that no other has."""
    found = [one for one in containers if one.id == name] or [
        one for one in containers if name and one.id.startswith(name)
    ]
    return found[0] if len(found) == 1 else None
