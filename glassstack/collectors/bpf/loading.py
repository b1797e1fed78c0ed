"""Finds bcc and the kernel headers, and compiles a .bpf.c file.

Owns what each of them needs from the machine, and says in one line what is
missing. The private mounts concern this process alone: tracefs where it is not
mounted, and headers of another kernel under this one's name.
"""

import ctypes
import importlib.util
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SYSTEM_PACKAGES = Path("/usr/lib/python3/dist-packages")
MODULES = Path("/lib/modules")
TRACEFS = (Path("/sys/kernel/debug/tracing"), Path("/sys/kernel/tracing"))
MACHINES = ("x86_64",)
"""Where the registers are known to calls.bpf.c."""
_CAP_SYS_ADMIN, _CAP_BPF, _CAP_PERFMON = 21, 39, 38
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x20000, 0x4000, 0x40000


class BpfError(Exception):
    """BPF can't be used: a line that says why, and what to do about it."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause}; {remedy}" if remedy else cause)
        self.cause = cause
        self.remedy = remedy


class Headers(NamedTuple):
    """Kernel headers: the release they are of, and whether that is the running kernel."""

    release: str
    exact: bool


def find_bcc(system: Path = SYSTEM_PACKAGES) -> Path:
    """The real bcc, from whichever Python. Raises BpfError."""
    found = importlib.util.find_spec("bcc")
    origin = Path(found.origin) if found and found.origin else None
    impostor = ""
    for path in (origin, system / "bcc" / "__init__.py"):
        if path is None or not path.is_file():
            continue
        try:
            if b"class BPF(" in path.read_bytes():
                return path
        except OSError:
            continue
        impostor = f"`bcc` in {path.parent} is another program"
    remedy = "apt-get install -y python3-bpfcc"
    raise BpfError(impostor or "bcc is not installed", f"pip uninstall bcc; {remedy}" if impostor else remedy)


def find_headers(modules: Path = MODULES, sys_root: Path = Path("/sys"), release: str = "") -> Headers:
    """Headers to compile with: of the running kernel, else the newest of another. Raises BpfError."""
    release = release or platform.release()
    if (modules / release / "build").exists() or (sys_root / "kernel/kheaders.tar.xz").exists():
        return Headers(release, True)
    others = [path.parent.name for path in modules.glob("*/build") if (path / "include").is_dir()]
    if others:
        return Headers(max(others, key=_version), False)
    remedy = f"apt-get install -y linux-headers-{release}, or linux-headers-{_machine_name()}"
    raise BpfError(f"no kernel headers for Linux {release}", remedy)


def _version(release: str) -> list[int]:
    return [int(word) for word in release.replace("-", ".").split(".") if word.isdigit()]


def _machine_name() -> str:
    """The machine as Debian's packages are named after it."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def may_load(proc: Path = Path("/proc")) -> bool:
    """Whether this process has the capabilities to load and attach BPF programs."""
    try:
        lines = (proc / "self/status").read_text().splitlines()
    except OSError:
        return False
    held = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    return bool(held >> _CAP_SYS_ADMIN & 1 or (held >> _CAP_BPF & 1 and held >> _CAP_PERFMON & 1))


def tracefs_mounted() -> bool:
    """Whether tracepoints can be looked up."""
    return any((place / "events").is_dir() for place in TRACEFS)


def warning(headers: Headers) -> str:
    """What is to be said about the headers, "" for nothing."""
    if headers.exact:
        return ""
    return (
        f"no headers for Linux {platform.release()}: compiled with those of {headers.release}, "
        "so only tracepoint arguments and registers are read, no structures of the kernel"
    )


class _Mounts:
    """Mounts that only this process sees. To be made before bcc looks, after children were started."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._private = False

    def mount(self, what: str, where: Path) -> None:
        """Mounts a file system without a device. Raises BpfError."""
        if not self._private:
            self._check(self._libc.unshare(_CLONE_NEWNS), "a mount namespace of our own")
            self._check(
                self._libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None),
                "a mount namespace of our own",
            )
            self._private = True
        done = self._libc.mount(b"nodev", os.fsencode(where), what.encode(), 0, None)
        self._check(done, f"{what} on {where}")

    def _check(self, result: int, what: str) -> None:
        if result:
            raise BpfError(f"can't mount {what}: {os.strerror(ctypes.get_errno())}", "run as root")


def check() -> Headers:
    """Looks whether BPF can be used, without doing anything. Raises BpfError with the first thing missing."""
    if platform.machine() not in MACHINES:
        raise BpfError(f"the registers of {platform.machine()} are not known", "use the tracer (ptrace)")
    if not may_load():
        raise BpfError("loading BPF programs needs CAP_SYS_ADMIN, or CAP_BPF with CAP_PERFMON", "run as root")
    find_bcc()
    if not tracefs_mounted() and not TRACEFS[1].is_dir():
        raise BpfError("the kernel has no tracefs", "a kernel with CONFIG_FTRACE")
    return find_headers()


def prepare() -> Headers:
    """Makes this process ready to compile: mounts what is missing. Raises BpfError."""
    headers = check()
    mounts = _Mounts()
    if not tracefs_mounted():
        mounts.mount("tracefs", TRACEFS[1])
    if not headers.exact:
        links = {name: os.path.realpath(MODULES / headers.release / name) for name in ("build", "source")}
        mounts.mount("tmpfs", MODULES)
        folder = MODULES / platform.release()
        folder.mkdir()
        for name, target in links.items():
            (folder / name).symlink_to(target)
    return headers


def import_bcc() -> Any:
    """The module bcc. Raises BpfError."""
    path = find_bcc()
    spec = importlib.util.spec_from_file_location("bcc", path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise BpfError(f"{path} can't be imported", "apt-get install --reinstall python3-bpfcc")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bcc"] = module
    try:
        spec.loader.exec_module(module)
    except (ImportError, OSError, AttributeError) as error:
        del sys.modules["bcc"]
        raise BpfError(f"bcc can't be imported: {error}", "apt-get install -y python3-bpfcc") from error
    return module


def compile_files(names: Sequence[str], defines: Mapping[str, int]) -> Any:
    """A BPF object of files beside this one, joined; its tracepoints are attached. Raises BpfError."""
    bcc = import_bcc() if "bcc" not in sys.modules else sys.modules["bcc"]
    flags = [f"-D{key}={value}" for key, value in defines.items()]
    # One text, as bcc rewrites accesses to maps in its main file only.
    text = "".join(f'#line 1 "{name}"\n{Path(__file__).with_name(name).read_text()}' for name in names)
    try:
        return bcc.BPF(text=text, cflags=flags)
    except Exception as error:  # bcc raises nothing more exact, and has said more on stderr
        raise BpfError(f"{names[-1]}: {error}", "`glassstack doctor` says what is missing") from error
