"""Faults of the kernel's half, for a node whose GPU is the module's. Rows of the fault table (faults.py).

All of it is undone with the world's modules, noted when it was made, but for
what only a boot takes back: that a kernel enforces signatures.
"""

import os
from pathlib import Path

from glassstack.drills.fault import Fault, Words, keep
from glassstack.drills.kernel import CONFIG, ENFORCE, FOLDER
from glassstack.drills.world import World


def _child_module(world: World, tag: str, words: Words) -> None:
    """fakegpu-uvm, which holds the driver's first module as long as it is loaded: there, or not."""
    present = Path("/sys/module/fakegpu_uvm").exists()
    if words["state"] == "loaded" and not present:
        world.must(f"insmod {FOLDER}/$(uname -r)/fakegpu-uvm.ko")
    if words["state"] == "absent" and present:
        world.must("rmmod fakegpu_uvm")


def other_magic(module: bytes, release: str) -> bytes:
    """A module as a kernel of another flavour would have it: its release, and no preemption.

    Raises ValueError: there is no such string in it, or no room.
    """
    start = module.index(b"vermagic=") + len(b"vermagic=")
    end = module.index(b"\0", start)
    flags = [flag for flag in module[start:end].decode().split()[1:] if flag != "preempt"]
    magic = " ".join([release, *flags, ""]).encode()
    if len(magic) > end - start:
        raise ValueError(f"no room for {magic.decode()!r}")
    # What is left is zeroes, which the kernel skips between two entries.
    return module[:start] + magic.ljust(end - start, b"\0") + module[end:]


def _kernel_update(world: World, tag: str, words: Words) -> None:
    """The driver is pinned to the modules of the kernel before the update."""
    release = os.uname().release
    old = release.replace("-amd64", "-cloud-amd64")
    source, place = world.at(f"{FOLDER}/{release}"), world.at(f"{FOLDER}/{old}")
    place.mkdir()
    for file in source.glob("*.ko"):
        (place / file.name).write_bytes(other_magic(file.read_bytes(), old))
    keep(world, tag, world.at(CONFIG))
    world.at(CONFIG).write_text(f"release={old}\n")
    world.must("unload-driver; ! load-driver")


def _enforcement(world: World, tag: str, words: Words) -> None:
    """From now on the kernel takes signed modules only, as after a boot with Secure Boot; no way back."""
    world.must("unload-driver")
    ENFORCE.write_text("Y")
    world.must("! load-driver")


def _upgrade(world: World, tag: str, words: Words) -> None:
    """What a driver package does: new libraries, the new version for the module, and a reload if it can."""
    for path in sorted(world.at("/opt/fakegpu/lib").iterdir()):
        keep(world, tag, path)
    keep(world, tag, world.at(CONFIG))
    world.install_driver(words["version"])
    world.at(CONFIG).write_text(f"params=version={words['version']}\n")
    world.tell_loader()
    world.must("unload-driver && load-driver || true")


FAULTS: dict[str, Fault] = {
    "child-module": Fault(
        "kmd", "fakegpu-uvm loaded on top of fakegpu, or not", _child_module, {"state": "loaded"}, ("module",)
    ),
    "kernel-update": Fault("kmd", "modules built for another kernel", _kernel_update, {}, ("module",)),
    "enforcement": Fault("kmd", "a kernel that takes signed modules only", _enforcement, {}, ("module",)),
    "upgrade": Fault("kmd", "a driver upgrade in place", _upgrade, {"version": None}, ("module", "cc")),
}
