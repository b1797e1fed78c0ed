"""A drill's node whose GPU is the kernel module's own, as in the lab.

Owns which modules are loaded for it, their files on the node, and the way
back: as before the drill. The embedded device's tools go; the machine's own
(dmesg, rmmod, lsmod) are the right ones here.
"""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassstack.drills.world import World

MODULES = ("fakegpu", "fakegpu_uvm")
FOLDER = "/opt/fakegpu/modules"
CONFIG = "/etc/fakegpu.conf"
_BIN = "/opt/fakegpu/bin"
_PLAIN = "/opt/fakegpu/bin/plainly"
_STAND_INS = ("dmesg", "gpu-reset", "modprobe", "lsmod", "power-cycle")
_PLAINLY = """#!/bin/sh
# In place of fakegpu-run: the GPU is the kernel's, so that a program needs nobody to find it.
while [ "$1" != -- ]; do
	[ "$1" != --pid-fd ] || eval "echo \\$\\$ >&$2"
	shift
done
shift
exec "$@"
"""
_LOAD = """#!/bin/sh
# load-driver: what the node does at boot. /etc/fakegpu.conf says which of /opt/fakegpu/modules.
release=$(uname -r)
. /etc/fakegpu.conf
for name in fakegpu fakegpu-uvm; do
	[ -d "/sys/module/$(echo $name | tr - _)" ] || insmod "/opt/fakegpu/modules/$release/$name.ko" || exit 1
done
"""
_UNLOAD = """#!/bin/sh
# unload-driver: what an upgrade does first.
for name in fakegpu_uvm fakegpu; do
	[ ! -d "/sys/module/$name" ] || rmmod $name || exit 1
done
"""


def files() -> Path:
    """Where the modules for the running kernel are. Raises OSError."""
    from glassstack.gpu.artifacts import Artifacts

    release = os.uname().release
    for root in Artifacts().roots:
        if (root / "kmod" / release / "fakegpu.ko").is_file():
            return root / "kmod" / release
    raise OSError(f"no modules of {release}")


def note(world: "World") -> None:
    """Notes which modules there are, before anything else of the node: it is the last to be undone."""
    source = files()
    load = [[str(source / f"{name}.ko")] for name in ("fakegpu", "fakegpu-uvm")] if loaded() else []
    world.journal.note("modules", names=list(MODULES), load=load)


def build(world: "World") -> None:
    """Puts the modules' files on the node and loads them. Raises OSError, WorldError."""
    source, place = files(), world.at(f"{FOLDER}/{os.uname().release}")
    place.mkdir(parents=True, exist_ok=True)
    for name in ("fakegpu.ko", "fakegpu-uvm.ko"):
        shutil.copy2(source / name, place / name)
    for name in _STAND_INS:
        world.at(f"{_BIN}/{name}").unlink(missing_ok=True)
    world.script(_PLAIN, _PLAINLY)
    world.script(f"{_BIN}/load-driver", _LOAD)
    world.script(f"{_BIN}/unload-driver", _UNLOAD)
    world.at(CONFIG).write_text("# release=… where the modules of another kernel are wanted\n")
    world.must("unload-driver && load-driver")


def loaded() -> bool:
    """Whether the driver's first module is there."""
    return Path("/sys/module/fakegpu").exists()


def environ() -> dict[str, str]:
    """How services are started here."""
    return {"RUNNER": _PLAIN}

