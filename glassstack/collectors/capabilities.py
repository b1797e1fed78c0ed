"""What can be seen on this machine: every probe, in the order people read them.

Owns the list and which of it the embedded device needs. The probes are in
``probe_*.py`` and in the collectors themselves.
"""

import time
from collections.abc import Callable
from pathlib import Path

from glassstack.collectors import probe_bpf, probe_machine, probe_trace
from glassstack.collectors.cgroup import CgroupCollector
from glassstack.collectors.holders import HolderCollector
from glassstack.collectors.kmsg import KmsgCollector
from glassstack.collectors.probe_machine import Absent
from glassstack.collectors.probe_terminal import probe_terminal
from glassstack.collectors.processes import ProcessCollector
from glassstack.collectors.udev import UdevCollector
from glassstack.model.entities import Capability
from glassstack.model.events import Capabilities, Event
from glassstack.model.values import Source

NEEDED = ("Python packages", "ptrace", "process memory", "seccomp notification", "embedded device")
"""Names of what must be ready for a program to run on the embedded device and be seen."""


class CapabilityCollector:
    """Asks all probes once.

    Args:
        launcher: the embedded device's fakegpu-run, or why there is none.
    """

    name = "capabilities"

    def __init__(self, launcher: Path | Absent, period: float = 3600.0) -> None:
        self.period = period
        self._launcher = launcher

    def probe(self) -> Capability:
        """Ready always: each capability says for itself what it lacks."""
        return Capability(self.name, True)

    def sample(self) -> list[Event]:
        """One Capabilities event."""
        return [Capabilities(time.monotonic_ns(), Source.POLL, self.look())]

    def look(self) -> tuple[Capability, ...]:
        """All capabilities, those in NEEDED first."""
        probes: tuple[tuple[str, Callable[[], Capability]], ...] = (
            ("Python packages", probe_machine.probe_packages),
            ("ptrace", probe_trace.probe_ptrace),
            ("process memory", probe_trace.probe_memory),
            ("seccomp notification", probe_trace.probe_seccomp),
            ("embedded device", lambda: probe_machine.probe_embedded(self._launcher)),
            ("terminal", probe_terminal),
            ("attach", probe_trace.probe_attach),
            ("processes", ProcessCollector().probe),
            ("holders", HolderCollector().probe),
            ("cgroups", CgroupCollector(list).probe),
            ("uevents", UdevCollector().probe),
            ("kernel log", KmsgCollector().probe),
            ("disk space", probe_machine.probe_space),
            ("kernel driver", probe_machine.probe_kernel_driver),
            ("eBPF", probe_bpf.probe_ebpf),
            ("BPF programs", probe_bpf.probe_load),
            ("tracefs", probe_machine.probe_tracefs),
            ("bcc", probe_machine.probe_bcc),
            ("kernel headers", probe_bpf.probe_headers),
            ("KPROBES", probe_bpf.probe_kprobes),
            ("BTF", probe_machine.probe_btf),
        )
        return (*(ask(name, probe) for name, probe in probes), *probe_machine.probe_tools())


def ask(name: str, probe: Callable[[], Capability]) -> Capability:
    """What a probe says; one that fails must not take the others with it."""
    try:
        return probe()
    except Exception as error:
        return Capability(
            name, False, f"could not be tried: {type(error).__name__}: {error}", "please report it"
        )
