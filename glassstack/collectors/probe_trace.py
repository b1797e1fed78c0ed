"""Tries out what tracing needs on a child of its own: ptrace, reading memory, seccomp notification.

Owns the system calls. The child is a shell that waits for its input to end;
it is gone when a probe returns. Each probe does the real thing once, as
sandboxes refuse calls that every version check promises.
"""

import ctypes
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glassstack.model.entities import Capability

_SEIZE = 0x4206
_SECCOMP_NR = {"x86_64": 317, "aarch64": 277, "riscv64": 277, "ppc64le": 358, "s390x": 348}
_GET_ACTION_AVAIL, _GET_NOTIF_SIZES = 2, 3
_USER_NOTIF = 0x7FC00000
_CAP_SYS_PTRACE = 19
_YAMA = {
    0: "",
    1: "Yama's ptrace_scope is 1: only a process's ancestors",
    2: "Yama's ptrace_scope is 2: only root",
    3: "Yama's ptrace_scope is 3: nobody, until the next boot",
}
_SANDBOX = "a container or sandbox refuses it: allow SYS_PTRACE (docker run --cap-add SYS_PTRACE)"


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@contextmanager
def _child() -> Iterator[int]:
    with subprocess.Popen(
        ["/bin/sh", "-c", "read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _errno() -> str:
    return os.strerror(ctypes.get_errno())


def probe_ptrace() -> Capability:
    """Whether a program that glassstack starts can be traced."""
    libc = _libc()
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    libc.ptrace.restype = ctypes.c_long
    with _child() as pid:
        refused = libc.ptrace(_SEIZE, pid, None, None) != 0
    if refused:
        return Capability("ptrace", False, f"PTRACE_SEIZE of an own child: {_errno()}", _SANDBOX)
    return Capability("ptrace", True, "an own child could be seized")


def probe_attach(proc: Path = Path("/proc")) -> Capability:
    """Whether a process that runs already can be attached to."""
    scope = yama_scope(proc)
    rule = _YAMA.get(scope, f"Yama's ptrace_scope is {scope}")
    privileged = _may_ptrace_any(proc)
    if scope == 0:
        about = "any process" if privileged else "processes of this user"
        return Capability("attach", True, about)
    if privileged and scope < 3:
        return Capability("attach", True, "any process, as root")
    remedy = (
        "run as root, or: sysctl kernel.yama.ptrace_scope=0"
        if scope < 3
        else "start it with `glassstack run`"
    )
    return Capability("attach", False, rule, remedy)


def yama_scope(proc: Path) -> int:
    """0 to 3; a kernel without Yama has no restriction, which is 0."""
    try:
        return int((proc / "sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return 0


def _may_ptrace_any(proc: Path) -> bool:
    try:
        lines = (proc / "self/status").read_text().splitlines()
    except OSError:
        return False
    effective = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    return bool(effective >> _CAP_SYS_PTRACE & 1)


def probe_memory(proc: Path = Path("/proc")) -> Capability:
    """Whether the memory of an own child can be read in one call."""
    libc = _libc()
    buffer = ctypes.create_string_buffer(4)
    with _child() as pid:
        try:
            start = int((proc / str(pid) / "maps").read_text().split("-", 1)[0], 16)
        except (OSError, ValueError) as error:
            return Capability("process memory", False, f"maps of an own child: {error}", _SANDBOX)
        local = _IoVec(ctypes.addressof(buffer), 4)
        remote = _IoVec(start, 4)
        got = libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    if got != 4:
        return Capability("process memory", False, f"process_vm_readv of an own child: {_errno()}", _SANDBOX)
    return Capability("process memory", True, "process_vm_readv of an own child works")


def probe_seccomp() -> Capability:
    """Whether the kernel lets a user-space supervisor answer system calls."""
    name, number = "seccomp notification", _SECCOMP_NR.get(platform.machine())
    if number is None:
        return Capability(
            name, False, f"not known how to ask on {platform.machine()}", "use x86_64 or aarch64"
        )
    libc = _libc()
    action = ctypes.c_uint32(_USER_NOTIF)
    sizes = (ctypes.c_uint16 * 3)()
    for operation, argument in ((_GET_ACTION_AVAIL, action), (_GET_NOTIF_SIZES, sizes)):
        if libc.syscall(ctypes.c_long(number), operation, 0, ctypes.byref(argument)) != 0:
            return Capability(
                name, False, f"seccomp(2): {_errno()}", "needs Linux 5.14 or later, not in a sandbox"
            )
    return Capability(name, True, f"the kernel offers it (struct seccomp_notif: {sizes[0]} bytes)")
