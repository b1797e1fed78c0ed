"""A drill's node whose GPU is the kernel module's own, as in the lab.

Owns which modules are loaded for it, their files on the node, and the way
back: as before the drill. The embedded device's tools go; the machine's own
(dmesg, rmmod, lsmod) are the right ones here.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassstack.drills.world import World

MODULES = ("fakegpu", "fakegpu_uvm")
FOLDER = "/opt/fakegpu/modules"
CONFIG = "/etc/fakegpu.conf"
ENFORCE = Path("/sys/module/module/parameters/sig_enforce")
"""Whether the kernel takes signed modules only; once it does, until it boots again."""
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
# load-driver: what the node does at boot. /etc/fakegpu.conf says which modules, and with what parameters.
release=$(uname -r) params=
. /etc/fakegpu.conf
from=/opt/fakegpu/modules/$release
# shellcheck disable=SC2086
[ -d /sys/module/fakegpu ] || insmod "$from/fakegpu.ko" $params || exit 1
[ -d /sys/module/fakegpu_uvm ] || insmod "$from/fakegpu-uvm.ko"
"""
_UNLOAD = """#!/bin/sh
# unload-driver: what an upgrade does first.
for name in fakegpu_uvm fakegpu; do
	[ ! -d "/sys/module/$name" ] || rmmod $name || exit 1
done
"""


_EXPORTER = """#!/usr/bin/env python3
# gpu-exporter: reads the fence page of GPU 0 for a dashboard. It maps the page and closes the file at once.
import os, signal
from ctypes import CDLL, c_int, c_long, c_size_t, c_void_p, get_errno
libc = CDLL(None, use_errno=True)
libc.mmap.restype = c_void_p
libc.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
node = os.open("/dev/fakegpu0", os.O_RDWR)
page = libc.mmap(None, 4096, 1, 1, node, 0x1000)
os.close(node)
if page == c_void_p(-1).value:
    raise SystemExit(os.strerror(get_errno()))
print("exporting", flush=True)
signal.pause()
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
    world.journal.note("modules", names=list(MODULES), load=load, version=version(), enforce=str(ENFORCE))


def build(world: "World") -> None:
    """Puts the modules' files on the node and loads them. Raises OSError, WorldError."""
    source, place = files(), world.at(f"{FOLDER}/{os.uname().release}")
    place.mkdir(parents=True, exist_ok=True)
    for name in ("fakegpu.ko", "fakegpu-uvm.ko"):
        shutil.copy2(source / name, place / name)
    for name in _STAND_INS:
        world.at(f"{_BIN}/{name}").unlink(missing_ok=True)
    tools = {"plainly": _PLAINLY, "load-driver": _LOAD, "unload-driver": _UNLOAD, "gpu-exporter": _EXPORTER}
    for name, script in tools.items():
        world.script(f"{_BIN}/{name}", script)
    world.at(CONFIG).write_text("# release=KERNEL and params=… are what load-driver goes by\n")
    _quick(world)
    if not (loaded() and version() == world.node.driver):
        world.must("unload-driver && load-driver")


def _quick(world: "World") -> None:
    """What every command in the node goes through, in memory: the lab's own comes over a slow share."""
    busybox, folder = shutil.which("busybox"), world.folder / "quick"
    folder.mkdir()
    if busybox:
        shutil.copy2(busybox, folder / "busybox")
        for name in ("unshare", "mount"):
            (folder / name).symlink_to("busybox")


def tell_loader(world: "World") -> None:
    """The loader's cache with the node's libraries only; it finds the machine's where it always looks."""
    done = subprocess.run(
        ["ldconfig", "-r", str(world.root)], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        raise OSError(f"ldconfig: {done.stderr.strip()}")


def loaded() -> bool:
    """Whether both modules are there."""
    return all(Path(f"/sys/module/{name}").exists() for name in MODULES)


def version() -> str:
    """Of the module that is loaded; "" where none is."""
    try:
        return Path("/sys/module/fakegpu/parameters/version").read_text().strip()
    except OSError:
        return ""


def environ(world: "World", path: str) -> dict[str, str]:
    """How programs and services are started here."""
    return {"RUNNER": _PLAIN, "PATH": f"{world.folder}/quick:{path}"}
