"""Containers on a drill's node: an image, a CDI specification, the runtime, and pods that it runs.

Owns these files and the node's commands ``pod`` and ``cdi-refresh``. A pod's
cgroup is below two of the drill's own, as it would be on a node with a kubelet.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from glassstack.containers.cdi_write import specification, text
from glassstack.containers.inventory import Inventory, embedded_inventory, kernel_inventory

if TYPE_CHECKING:
    from glassstack.drills.world import World

IMAGE = "/opt/images/app"
SPECIFICATION = "/etc/cdi/glassstack.json"
TOOLS = (
    "sh",
    "ls",
    "stat",
    "cat",
    "env",
    "sleep",
    "id",
    "grep",
    "ps",
    "mount",
    "chmod",
    "ln",
    "mknod",
    "find",
)
_BIN = "/opt/fakegpu/bin"
_POD = """#!/bin/sh
# pod start|stop|restart|status NAME: the containers that run on this node. /etc/pods.d has their words
# for `minirt run`; what one says is in home/NAME.log.
[ $# = 2 ] && [ -f "/etc/pods.d/$2" ] || { echo "pod start|stop|restart|status NAME" >&2; exit 2; }
name=$2
stop() {
	[ ! -d "$MINIRT_STATE_DIR/$name" ] || minirt delete --force "$name"
}
start() {
	words=$(cat "/etc/pods.d/$name")
	sh -c 'echo $$ >"$PODS/cgroup.procs" 2>/dev/null || echo $$ >"$PODS/minirt.self/cgroup.procs" || exit 1
		'"exec minirt run --detach --id $name --log '$DRILL/home/$name.log' $words" </dev/null >/dev/null
}
case $1 in
start) start ;;
stop) stop ;;
restart) stop; start ;;
status) minirt state "$name" | grep '"status"' ;;
*) echo "pod: $1?" >&2; exit 2 ;;
esac
"""
_PREPROCESS = """#!/bin/sh
# preprocess MB: reads a batch of that many megabytes into memory, and says so.
busybox dd if=/dev/zero of=/dev/null bs="$1M" count=1 2>/dev/null && echo "batch of $1 MB ready"
"""
_REFRESH = """#!/bin/sh
# Writes the node's CDI specification anew, from the devices and libraries that are there now.
GLASSSTACK_NATIVE=/opt/fakegpu PYTHONPATH={package} exec {python} -m glassstack.cli.main \\
	cdi generate --output {file}
"""


def build(world: "World") -> None:
    """Makes image, specification, runtime and cgroups. Raises MissingArtifactError, OSError."""
    for name in ("minirt", "fakegpu-hook"):
        shutil.copy2(world.artifacts.bin(name), world.at(f"{_BIN}/{name}"))
    world.script(f"{_BIN}/pod", _POD)
    package = Path(__file__).resolve().parents[2]
    world.script(
        f"{_BIN}/cdi-refresh", _REFRESH.format(package=package, python=sys.executable, file=SPECIFICATION)
    )
    _image(world)
    write_specification(world)
    state = world.folder / "containers"
    group = cgroup(world)
    world.journal.note("cgroup", path=str(group))
    group.mkdir()
    for controller in (group / "cgroup.controllers").read_text().split():
        (group / "cgroup.subtree_control").write_text(f"+{controller}")
    (group / "pods").mkdir()
    world.journal.note("containers", program=str(world.at(f"{_BIN}/minirt")), state=str(state))
    # Once more: what starts containers has to be gone before they are taken away.
    world.journal.note("processes", mark=f"DRILL={world.folder}")
    state.mkdir(exist_ok=True)
    world.at("/etc/pods.d").mkdir(parents=True, exist_ok=True)
    for name, words in world.node.pods.items():
        world.at(f"/etc/pods.d/{name}").write_text(f"{words}\n")


def start(world: "World") -> None:
    """Starts the pods. Raises WorldError."""
    for name in world.node.pods:
        world.must(f"pod start {name}")


def environ(world: "World") -> dict[str, str]:
    """What runtime and tools go by."""
    return {
        "MINIRT_STATE_DIR": str(world.folder / "containers"),
        "MINIRT_CDI_DIRS": str(Path(SPECIFICATION).parent),
        "PODS": str(cgroup(world) / "pods"),
    }


def cgroup(world: "World") -> Path:
    """Of the node: in the unified hierarchy, below the one that this process is in."""
    own = next(
        (line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")),
        "/",
    )
    return unified() / own.lstrip("/") / world.device


def unified() -> Path:
    """Where the unified hierarchy is mounted, alone or beside the others."""
    beside = Path("/sys/fs/cgroup/unified")
    return beside if beside.is_dir() else Path("/sys/fs/cgroup")


def inventory(world: "World") -> Inventory:
    """The GPUs of the node. Raises ControlError, OSError."""
    if world.place != "lab":
        return embedded_inventory(world.control.name)
    found = kernel_inventory()
    if found is None:
        raise OSError("the module made no nodes")
    return found


def write_specification(world: "World") -> None:
    """The node's CDI specification, of what is there now."""
    libraries = [
        Path("/opt/fakegpu/lib") / f"{stem}.so.{world.node.driver}" for stem in ("libfakecuda", "libfakeml")
    ]
    document = specification(inventory(world), libraries, Path(f"{_BIN}/fakegpu-hook"), "index")
    file = world.at(SPECIFICATION)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text(document))


def _image(world: "World") -> None:
    """The application with its runtime and what both need of the C library. Never the driver."""
    root = world.at(IMAGE)
    for name in ("bin", "usr/bin", "usr/lib", "etc", "dev", "proc", "sys", "tmp"):
        (root / name).mkdir(parents=True, exist_ok=True)
    programs = [world.artifacts.bin(f"fakegpu-{name}") for name in ("vectoradd", "train", "smi")]
    for program in programs:
        name = program.name if program.name.endswith("smi") else program.name.removeprefix("fakegpu-")
        shutil.copy2(program, root / "usr/bin" / name)
    world.script(f"{IMAGE}/usr/bin/preprocess", _PREPROCESS)
    runtime = world.at("/opt/app/lib")
    for file in sorted(runtime.glob("libfakecudart.so*")):
        shutil.copy2(file, root / "usr/lib" / file.name, follow_symlinks=False)
    for library in _needed(programs):
        (root / str(library.parent).lstrip("/")).mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, root / str(library).lstrip("/"))
    busybox = shutil.which("busybox")
    if busybox is None:
        raise OSError("no busybox")
    shutil.copy2(busybox, root / "bin/busybox")
    for name in TOOLS:
        (root / "bin" / name).symlink_to("busybox")


def _needed(programs: list[Path]) -> list[Path]:
    """Libraries of the machine that programs need, as the loader finds them; ours are not among them."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=True)
    words = {word for word in done.stdout.split() if word.startswith("/") and not word.endswith(":")}
    return sorted(Path(word) for word in words if "fake" not in Path(word).name)
