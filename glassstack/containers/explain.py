"""How a GPU enters a container, told from the recorded steps of its start. Pure.

Owns the order of the story and what counts as evidence: a step that was
recorded, or what the kernel says of the container now. Adds nothing to them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glassstack.decoders.device_list import EVERYTHING
from glassstack.decoders.nodes import node_of
from glassstack.decoders.steps import meaning
from glassstack.format import fields, units
from glassstack.model.entities import Container, DeviceList, DeviceNode, World
from glassstack.model.events import Step
from glassstack.store.containers import access, lost, rule_text

CHAPTERS = (
    ("visibility", "What it sees: namespaces, mounts, a name"),
    ("resources", "What it may use: its cgroup and its limits"),
    ("devices", "What is brought in: device list, nodes, the driver's libraries"),
    ("privilege", "What it may do: users, capabilities, syscalls"),
    ("life", "The command itself"),
)
_COVERS = {"mask": "of the kernel masked", "read-only": "made read-only"}
NOW = "As the kernel has it now"


@dataclass(frozen=True)
class Passage:
    """A statement and its evidence, a line each; ``ok`` is false where a step failed."""

    chapter: str
    name: str
    text: str
    evidence: tuple[str, ...]
    ok: bool = True


def title(name: str, steps: Sequence[Step], container: Container | None) -> str:
    """What the story is about: whether a GPU came in at all."""
    told = any(node_of(str(step.detail.get("path", ""))) for step in steps if step.name == "device")
    if told or (container and any(node_of(node.path) for node in container.world.nodes)):
        return f"How a GPU enters container {name}"
    return f"How container {name} came to be; no GPU entered it"


def passages(steps: Sequence[Step], container: Container | None, host: World | None) -> list[Passage]:
    """The story of a start in chapters; what the kernel says now comes last, while it lives."""
    told = [passage for layer, title in CHAPTERS for passage in _chapter(steps, layer, title)]
    strange = [step for step in steps if not meaning(step.name).layer]
    told += [
        Passage("Other steps", step.name, meaning(step.name).text, (_evidence(step, steps),))
        for step in strange
    ]
    return told + (list(_now(steps, container, host)) if container else [])


def _chapter(steps: Sequence[Step], layer: str, title: str) -> Iterator[Passage]:
    """Steps of one kind make one passage, in the order in which the kinds appeared."""
    for name in dict.fromkeys(step.name for step in steps if meaning(step.name).layer == layer):
        same = [step for step in steps if step.name == name]
        plain = [step for step in same if step.detail.get("type") not in _COVERS]
        evidence = (*(_evidence(step, steps) for step in plain), *_covered(same))
        yield Passage(title, name, meaning(name).text, evidence, all(not step.errno for step in same))


def _covered(steps: Sequence[Step]) -> Iterator[str]:
    """Paths that were covered one by one, together: how many there are is the kernel's matter."""
    for kind, words in _COVERS.items():
        paths = [str(step.detail.get("target", "")) for step in steps if step.detail.get("type") == kind]
        if paths:
            yield f"{len(paths)} paths {words}: {' '.join(paths)}"


def _evidence(step: Step, steps: Sequence[Step]) -> str:
    """When, how long, with what outcome, and the details that the step told."""
    at = units.clock(step.ts - steps[0].ts, 6)
    detail = " ".join(f"{key}={fields.value(key, value)}" for key, value in step.detail.items())
    return f"+{at} s, {units.duration(step.dur_ns)}, {step.errno or 'ok'}: {detail}".rstrip(": ")


def _now(steps: Sequence[Step], container: Container, host: World | None) -> Iterator[Passage]:
    yield _list(container, lost(container, steps))
    nodes = [node for node in container.world.nodes if node_of(node.path)]
    yield Passage(
        NOW,
        "nodes",
        "GPU nodes in its /dev, and whether the device list lets it open them."
        if nodes
        else "There is no GPU node in its /dev: whatever the library says, no device can be opened.",
        tuple(_node(container, node) for node in nodes),
    )
    brought = [f"{one.what} {one.version}: {one.path}" for one in container.world.libraries]
    yield Passage(NOW, "libraries", "GPU libraries that its loader can find.", tuple(brought), bool(brought))
    if host:
        kinds = [
            kind for kind, inode in container.world.namespaces.items() if host.namespaces.get(kind) != inode
        ]
        text = "Namespaces that are its own; the others are the host's."
        yield Passage(NOW, "namespaces", text, (" ".join(kinds) or "none",))


def _list(container: Container, gone: str) -> Passage:
    devices = container.devices
    if gone:
        return Passage(NOW, "device list", f"Broken: {gone}.", _allowed(devices), False)
    if devices.missing:
        return Passage(NOW, "device list", f"Not available: {devices.missing}.", (), False)
    if devices.rules == EVERYTHING:
        return Passage(NOW, "device list", "Nothing decides: every device may be opened.", ())
    where = f"devices.list of {devices.cgroup} (cgroup v1)"
    if devices.programs:
        where = "; ".join(
            f"program {one.id} ({one.tag}) at {one.attached or '?'}" for one in devices.programs
        )
    return Passage(
        NOW,
        "device list",
        "What the kernel lets it open; everything else is denied.",
        (where, *_allowed(devices)),
    )


def _allowed(devices: DeviceList) -> tuple[str, ...]:
    return tuple(rule_text(rule) for rule in devices.rules or ())


def _node(container: Container, node: DeviceNode) -> str:
    allowed = access(container.devices, node.kind, node.major, node.minor)
    verdict = "device list not known" if allowed is None else f"allowed {allowed}" if allowed else "denied"
    return (
        f"{node.path} {node.kind} {node.major}:{node.minor} mode {node.mode:04o} of {node.owner}: {verdict}"
    )
