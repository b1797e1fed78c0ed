"""A made-up container with one of two GPUs, as events: what the screen tests of containers draw."""

from __future__ import annotations

from glassstack.model import entities as en
from glassstack.model import events as ev
from glassstack.model.events import Event
from glassstack.model.values import Scalar, Source
from tests.snapshots import fake
from tests.snapshots.fake import SECOND, START, VERSION


def world(number: int, **options: object) -> en.World:
    """A world: what is not in ``options`` is the host's."""
    kinds = ("pid", "mnt", "uts", "ipc", "net", "cgroup", "user")
    values: dict[str, object] = {
        "hostname": "node-a",
        "processes": (),
        "namespaces": {kind: 4026531830 + number + index for index, kind in enumerate(kinds)},
        "mounts": (en.MountPoint("/", "ext4", "/dev/vda1", "/", "rw"),),
        "nodes": (
            en.DeviceNode("/dev/fakegpu0", 120, 0, 0o666, "0:0"),
            en.DeviceNode("/dev/fakegpu1", 120, 1, 0o666, "0:0"),
            en.DeviceNode("/dev/null", 1, 3, 0o666, "0:0"),
        ),
        "libraries": (en.GpuLibrary(f"/usr/lib/libfakecuda.so.{VERSION}", "umd", VERSION),),
        "cgroup": "/user.slice",
        "uid_map": "0 0 4294967295",
        "capabilities": (1 << 41) - 1,
        "seccomp": "off",
    }
    values.update(options)
    return en.World(**values)  # type: ignore[arg-type]


def boxed() -> list[Event]:
    """A container with one of two GPUs, from its start."""
    at = START + 3 * SECOND
    steps: list[tuple[str, int, str | None, dict[str, Scalar]]] = [
        ("cgroup", 90_000, None, {"path": "/minirt/web"}),
        ("cgroup-write", 11_000, None, {"file": "memory.max", "value": "104857600"}),
        ("device-rules", 140_000, None, {"rules": 9, "insns": 61}),
        ("clone", 310_000, None, {"flags": "0x7e020000"}),
        ("mount", 21_000, None, {"type": "proc", "source": "proc", "target": "/proc"}),
        ("mount", 18_000, "ENOENT", {"type": "bind", "source": "/opt/data", "target": "/data"}),
        ("device", 9_000, None, {"path": "/dev/fakegpu0", "major": 120, "minor": 0, "how": "mknod"}),
        ("library", 16_000, None, {"path": f"/usr/lib/libfakecuda.so.{VERSION}"}),
        ("pivot-root", 40_000, None, {"old": "detached"}),
        ("exec", 200_000, None, {"path": "/bin/train"}),
    ]
    told: list[Event] = []
    for index, (name, took, error, detail) in enumerate(steps):
        told.append(ev.Step(at + index * 350_000, Source.FILE, "web", 900, name, detail, error, took))
    inside = world(
        300,
        hostname="web",
        processes=((900, 1, "minirt init"), (901, 2, "/bin/train --steps 23")),
        mounts=(
            en.MountPoint("/", "overlay", "overlay", "/", "rw"),
            en.MountPoint("/proc", "proc", "proc", "/", "rw,nosuid,nodev,noexec"),
        ),
        nodes=(
            en.DeviceNode("/dev/fakegpu0", 120, 0, 0o666, "0:0"),
            en.DeviceNode("/dev/null", 1, 3, 0o666, "0:0"),
        ),
        cgroup="/minirt/web",
        capabilities=0xA80425FB,
        seccomp="filter",
        no_new_privs=True,
    )
    rules = (en.DeviceRule("c", 1, 3, "rwm"), en.DeviceRule("c", 120, 0, "rw"))
    program = en.DeviceProgram(57, "minirt", "8f2a90d1c4b37e65", "/minirt/web")
    devices = en.DeviceList("/minirt/web", (program,), rules)
    container = en.Container("web", "minirt", 900, "/minirt/web", inside, devices)
    return [*fake.begin(), *told, ev.Containers(at + 5 * SECOND, Source.POLL, world(0), (container,))]
