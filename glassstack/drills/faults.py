"""The fault table: each acts at the lowest real seam, and notes first how to undo it.

One row a fault: its layer, what it needs, and what it does. Nothing here
touches the store or the screen: every layer tells its own truth about it.
"""

from glassstack.drills import faults_containers, faults_kernel
from glassstack.drills.fault import Fault, Words, keep
from glassstack.drills.world import APP, DRIVER, World


class FaultError(Exception):
    """A fault that the table does not have, or words that it does not take; one line."""


def _keep_all(world: World, tag: str, folder: str, stem: str) -> None:
    for path in sorted(world.at(folder).glob(f"{stem}.so*")):
        keep(world, tag, path)


_PARTS = {"umd": "libfakecuda", "ml": "libfakeml"}


def _umd_version(world: World, tag: str, words: Words) -> None:
    """Driver libraries of another version than the kernel's half: all, or one of its parts."""
    parts = _PARTS if words["part"] == "all" else {words["part"]: _PARTS[words["part"]]}
    for kind, stem in parts.items():
        _keep_all(world, tag, f"{DRIVER}/lib", stem)
        keep(world, tag, world.at(f"{DRIVER}/lib/{stem}.so.{words['version']}"))
        world.put_library(f"{DRIVER}/lib", kind, stem, words["version"], ".so.1")


def _umd_uncached(world: World, tag: str, words: Words) -> None:
    """The library is there, but came after the loader's cache was made."""
    keep(world, tag, world.at("/etc/ld.so.cache"))
    world.must(
        f"mkdir away && mv {DRIVER}/lib/libfakecuda.so* away && ldconfig"
        f" && mv away/* {DRIVER}/lib/ && rmdir away"
    )


def _umd_missing(world: World, tag: str, words: Words) -> None:
    _keep_all(world, tag, f"{DRIVER}/lib", "libfakecuda")
    for path in world.at(f"{DRIVER}/lib").glob("libfakecuda.so*"):
        path.unlink()


def _runtime_version(world: World, tag: str, words: Words) -> None:
    _keep_all(world, tag, f"{APP}/lib", "libfakecudart")
    keep(world, tag, world.at(f"{APP}/lib/libfakecudart.so.{words['cuda']}"))
    world.install_runtime(words["cuda"])


def _image_umd(world: World, tag: str, words: Words) -> None:
    """A driver library in a folder of the application, by default where the loader looks first."""
    for name in (f"libfakecuda.so.{words['version']}", "libfakecuda.so.1"):
        keep(world, tag, world.at(f"{words['folder']}/{name}"))
    world.at(words["folder"]).mkdir(exist_ok=True)
    world.put_library(words["folder"], "umd", "libfakecuda", words["version"], ".so.1")


def _device_fault(world: World, tag: str, words: Words) -> None:
    """With a service the fault is of its context only."""
    context = f",ctx={_context(world, words['service'])}" if words["service"] else ""
    world.journal.note("faults", tag, name=world.device)
    world.control.ask(f"fault {words['spec']}{context}")


def _context(world: World, service: str) -> int:
    pid = world.pid(service)
    for device in world.control.status().devices:
        for context in device.contexts:
            if context.pid == pid:
                return context.id
    raise FaultError(f"fault device: the service {service} has no context")


def _uvm_missing(world: World, tag: str, words: Words) -> None:
    """As without its module: there is no such node."""
    world.control.ask("uvm off")


def _file(world: World, tag: str, words: Words) -> None:
    keep(world, tag, world.at(words["path"]))
    world.put_file(words["path"], words["text"])


def _script(world: World, tag: str, words: Words) -> None:
    world.must(words["run"])


def _environment(world: World, tag: str, words: Words) -> None:
    """A variable set for everybody on the node."""
    file = world.at("/etc/environment")
    keep(world, tag, file)
    with file.open("a") as out:
        out.write(f"{words['name']}='{words['value']}'\n")


def _service(world: World, tag: str, words: Words) -> None:
    world.start(words["name"], words["run"])
    if words["ready"]:
        world.must(f"until {words['ready']}; do sleep 0.1; done")


FAULTS: dict[str, Fault] = {
    "umd-version": Fault(
        "umd", "driver libraries at another version", _umd_version, {"version": None, "part": "all"}, ("cc",)
    ),
    "umd-uncached": Fault("umd", "a driver library that the loader's cache lacks", _umd_uncached, {}),
    "umd-missing": Fault("umd", "no driver library where the loader looks", _umd_missing, {}),
    "runtime-version": Fault(
        "runtime", "a runtime of another CUDA version", _runtime_version, {"cuda": None}, ("cc",)
    ),
    "image-umd": Fault(
        "umd", "a driver library in the image", _image_umd, {"version": None, "folder": f"{APP}/lib"}, ("cc",)
    ),
    "device": Fault(
        "device",
        "a fault of the device, in kmod/SPEC.md's grammar",
        _device_fault,
        {"spec": None, "service": ""},
    ),
    "uvm-missing": Fault("kmd", "no module for /dev/fakegpu-uvm", _uvm_missing, {}),
    "file": Fault("app", "a file of the node with another text", _file, {"path": None, "text": None}),
    "script": Fault("app", "what somebody did on the node", _script, {"run": None}),
    "environment": Fault("app", "a variable set on the node", _environment, {"name": None, "value": None}),
    "service": Fault(
        "app", "a program that runs on the node", _service, {"name": None, "run": None, "ready": ""}
    ),
    **faults_containers.FAULTS,
    **faults_kernel.FAULTS,
}


def inject(world: World, name: str, tag: str, given: Words) -> None:
    """Applies a fault. Raises FaultError, and what the seam raises."""
    fault = FAULTS.get(name)
    if fault is None:
        raise FaultError(f"no fault {name!r}; there are {', '.join(FAULTS)}")
    if unknown := set(given) - set(fault.takes):
        raise FaultError(f"fault {name}: it takes no {sorted(unknown)[0]!r}")
    words = {**fault.takes, **given}
    if absent := [key for key, value in words.items() if value is None]:
        raise FaultError(f"fault {name}: {absent[0]!r} must be given")
    fault.apply(world, tag, words)
