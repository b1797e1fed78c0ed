"""The probes that try things out, on this machine, against what the kernel says elsewhere."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassstack.cli.doctor import find_launcher
from glassstack.collectors import probe_machine, probe_trace

DOCTOR = (sys.executable, "-m", "glassstack.cli.main", "doctor")
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
# Return EPERM for ptrace (101) and process_vm_readv (310), allow the rest: x86_64.
_REFUSE = [
    (0x20, 0, 0, 0),
    (0x15, 2, 0, 101),
    (0x15, 1, 0, 310),
    (0x06, 0, 0, 0x7FFF0000),
    (0x06, 0, 0, 0x00050001),
]


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("jt", ctypes.c_ubyte),
        ("jf", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


def _sandbox() -> None:
    instructions = (_Instruction * len(_REFUSE))(*(_Instruction(*one) for one in _REFUSE))
    libc = ctypes.CDLL(None)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(_Program(len(_REFUSE), instructions)), 0, 0)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.ptrace
def test_tracing_probes_work_here_and_leave_nothing() -> None:
    before = children()
    for probe in (probe_trace.probe_ptrace, probe_trace.probe_memory, probe_trace.probe_seccomp):
        found = probe()
        assert found.ready, found
    assert children() == before


def test_seccomp_agrees_with_the_kernels_own_list() -> None:
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    if not actions.exists():
        pytest.skip("this kernel does not list its seccomp actions")
    assert probe_trace.probe_seccomp().ready == ("user_notif" in actions.read_text().split())


@pytest.mark.ptrace
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter is written for x86_64")
def test_a_sandbox_that_refuses_is_noticed() -> None:
    done = subprocess.run(DOCTOR, capture_output=True, text=True, preexec_fn=_sandbox)
    assert done.returncode == 4
    lines = done.stdout.splitlines()
    for name in ("ptrace", "process memory"):
        (line,) = [line for line in lines if f"missing  {name} " in line]
        assert "Operation not permitted" in line
    assert "--cap-add SYS_PTRACE" in done.stdout
    assert lines[-1].startswith("the embedded GPU can not run: ptrace, process memory")


def test_uevents_can_be_received_here() -> None:
    found = probe_machine.probe_uevents()
    assert found.ready or found.why


def test_exit_code_follows_the_embedded_device(native: Path) -> None:
    launcher = find_launcher()
    assert launcher == native / "fakegpu-run"
    ready = probe_machine.probe_embedded(launcher).ready
    done = subprocess.run(DOCTOR, capture_output=True, text=True)
    assert ready == (subprocess.run([launcher, "--", "true"]).returncode == 0)
    assert done.returncode == (0 if ready else 4), done.stdout
    assert done.stderr == ""
