"""What eBPF needs, gate by gate: whether a program loads, with which headers, on which hooks.

Never imports bcc. A program of two instructions is really loaded and freed
again at once, as sandboxes and lockdown refuse what every version check promises.
"""

import ctypes
import errno
import os
import platform
from pathlib import Path

from glassstack.collectors.bpf import loading
from glassstack.collectors.bpf.loading import BpfError
from glassstack.model.entities import Capability

FALLBACK = "device calls are traced with ptrace instead, functions are not counted"
_BPF_NR = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}
_PROG_LOAD, _RAW_TRACEPOINT = 5, 17
_RETURN_0 = bytes.fromhex("b7000000000000009500000000000000")


class _Load(ctypes.Structure):
    """The first members of union bpf_attr for BPF_PROG_LOAD; the kernel takes the rest as 0."""

    _fields_ = (
        ("prog_type", ctypes.c_uint32),
        ("insn_cnt", ctypes.c_uint32),
        ("insns", ctypes.c_uint64),
        ("license", ctypes.c_uint64),
        ("log_level", ctypes.c_uint32),
        ("log_size", ctypes.c_uint32),
        ("log_buf", ctypes.c_uint64),
    )


def probe_load() -> Capability:
    """Loads a raw tracepoint program that does nothing, and frees it."""
    name, number = "BPF programs", _BPF_NR.get(platform.machine())
    if number is None:
        return Capability(name, False, f"not known how to ask on {platform.machine()}", "use x86_64")
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(_RETURN_0, len(_RETURN_0))
    licence = ctypes.create_string_buffer(b"MIT")
    attributes = _Load(_RAW_TRACEPOINT, 2, ctypes.addressof(code), ctypes.addressof(licence))
    fd = libc.syscall(ctypes.c_long(number), _PROG_LOAD, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if fd >= 0:
        os.close(fd)
        return Capability(name, True, "one could be loaded")
    error = ctypes.get_errno()
    why = f"bpf(2): {os.strerror(error)}"
    if error == errno.ENOSYS:
        return Capability(name, False, why, "a kernel with CONFIG_BPF_SYSCALL")
    return Capability(
        name, False, why, "run as root" if os.geteuid() else "run outside the sandbox (CAP_BPF, CAP_PERFMON)"
    )


def probe_headers(modules: Path = loading.MODULES, sys: Path = Path("/sys"), release: str = "") -> Capability:
    """Headers that bcc can compile with."""
    try:
        found = loading.find_headers(modules, sys, release)
    except BpfError as error:
        return Capability("kernel headers", False, error.cause, error.remedy)
    if found.exact:
        return Capability("kernel headers", True, f"of this kernel, {found.release}")
    return Capability(
        "kernel headers",
        True,
        loading.warning(found),
        f"apt-get install -y linux-headers-{platform.release()}, where there is such a package",
    )


def probe_kprobes(proc: Path = Path("/proc")) -> Capability:
    """Whether functions of the kernel can be probed; device calls and libraries need none of it."""
    name, fallback = "KPROBES", "not needed: tracepoints, raw tracepoints and uprobes are used"
    try:
        with open(proc / "kallsyms") as symbols:
            found = any(line.split()[2] == "register_kprobe" for line in symbols)
    except (OSError, IndexError):
        return Capability(name, False, f"{proc}/kallsyms can't be read", fallback)
    if found:
        return Capability(name, True, "the kernel has register_kprobe")
    return Capability(name, False, "this kernel was built without", fallback)


def probe_ebpf() -> Capability:
    """All gates together: whether `--source ebpf` would work."""
    try:
        headers = loading.check()
    except BpfError as error:
        return Capability("eBPF", False, f"{error.cause}; {FALLBACK}", error.remedy)
    loaded = probe_load()
    if not loaded.ready:
        return Capability("eBPF", False, f"{loaded.why}; {FALLBACK}", loaded.remedy)
    about = "" if headers.exact else f" (headers of Linux {headers.release})"
    return Capability("eBPF", True, f"device calls, and functions of the GPU libraries{about}")
