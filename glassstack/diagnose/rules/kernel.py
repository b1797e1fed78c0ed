"""The driver's own trouble: GPUs that fail to start or fall off, silent firmware, hangs."""

from glassstack.diagnose.evidence import Evidence
from glassstack.diagnose.rules.base import Match, Rule, every, has, matched, no, one_of, seen, some
from glassstack.diagnose.words import stage, status

_INIT = (
    "NO_DEVICES",
    "RM_INIT_FAILED",
    "PROBE_FAILED",
    "SMI_NO_DRIVER",
    "NVML_*",
    "CUDA_100",
    "CUDA_999",
    "XID_119",
    "XID_143",
)
_OPEN = no(seen("open_module_unsupported"))


def _init(evidence: Evidence) -> Match | None:
    facts = evidence.all("rm_init")
    if not facts:
        return None
    first = facts[0]
    at, what = int(first.get("stage"), 16), int(first.get("status"), 16)
    return matched(facts, stage=stage(at), status=status(what))


def _memory(evidence: Evidence) -> Match | None:
    facts = evidence.all("rm_init", stage="0x24", status="0x72")
    return matched(facts, stage=stage(0x24), status=status(0x72)) if facts else None


def _gsp(evidence: Evidence) -> Match | None:
    facts = [
        *evidence.all("gfw_boot"),
        *evidence.all("rm_init", stage="0x62", status=one_of("0x65", "0x66")),
    ]
    if not facts:
        return None
    pci = next((fact.get("pci") for fact in evidence.all("rm_init")), "one address")
    return matched([*facts, *evidence.all("gsp_init")], pci=pci)


def _hung(evidence: Evidence) -> Match | None:
    """A task stuck for minutes, with a sign that it is the GPU driver's doing."""
    tasks = evidence.all("hung_task")
    signs = [*evidence.all("xid")[:2], *evidence.all("frame")[:3]]
    return matched([*tasks[:2], *signs]) if tasks and signs else None


_LOCKED = every(seen("d_state"), seen("frame", function=has("rmapiLockAcquire", "os_acquire_rwlock")))
_UVM_WAIT = every(
    some(seen("hung_task"), seen("d_state")), seen("frame", function=lambda name: name.startswith("uvm_"))
)

RULES = (
    Rule(
        id="FALLEN_OFF_BUS",
        layer="hardware",
        when=seen("fallen_off_bus"),
        cause="The GPU at {pci} does not answer on PCIe any more; it was so already when the driver looked "
        "at it, hence "
        "no Xid 79.",
        unlike="Xid 79 is the same, while the driver runs.",
        next="Drain and reboot the node (power off fully if that does not help); check power, seating, "
        "cables, PCIe errors.",
        confirm="lspci -d 10de: lists it, without 'rev ff'; nvidia-smi -L too.",
        source="NVIDIA/NVSentinel#155; leptonai/gpud PR 1209",
        over=("PROBE_FAILED", "NO_DEVICES", "RM_INIT_FAILED", "NVML_*", "CUDA_100"),
    ),
    Rule(
        id="GSP_INIT_TIMEOUT",
        layer="hardware",
        when=every(_gsp, _OPEN),
        cause="The firmware of the GPU at {pci} did not start in time (GFW_BOOT or GSP).",
        unlike="A wrong module type says so in a line of its own.",
        next="Reset the GPU or power-cycle the node; if it comes back, update the VBIOS or SBIOS, then "
        "report the board.",
        confirm="dmesg after a cold start has no GFW_BOOT line, and nvidia-smi lists the GPU.",
        source="NVIDIA/open-gpu-kernel-modules#789",
        over=_INIT,
    ),
    Rule(
        id="GPU_MEMORY_OR_HW",
        layer="hardware",
        when=every(_memory, _OPEN),
        cause="The GPU at {pci} failed while {stage}: {status}. Its memory or the board is at fault.",
        unlike="The open module on a GPU before Turing fails with the same numbers, after a line that says "
        "so.",
        next="Reset the GPU; if it fails again run field diagnostics and replace the board.",
        confirm="nvidia-smi -q -i {pci} works after the reset; nvidia-smi -q -d ECC,ROW_REMAPPER is clean.",
        source="NVIDIA/gpu-operator#1146",
        over=_INIT,
    ),
    Rule(
        id="RM_INIT_FAILED",
        layer="hardware",
        when=_init,
        cause="The GPU at {pci} could not be started: it failed while {stage}, with {status}. Opening its "
        "node gives EIO.",
        unlike="",
        next="Read the lines before it; then try a GPU reset or a cold start.",
        confirm="dmesg | grep RmInitAdapter shows no new line.",
        source="open-gpu-kernel-modules osinit.c",
        over=("NO_DEVICES", "PROBE_FAILED", "NVML_*", "CUDA_100", "CUDA_999"),
    ),
    Rule(
        id="PROBE_FAILED",
        layer="hardware",
        when=some(seen("probe_failed"), seen("none_initialized")),
        cause="The driver tried its GPUs and could take none of them, or not all.",
        unlike="'was not called' means that another driver owns them.",
        next="Read the line before it: it has the reason.",
        confirm="dmesg | grep -B5 'probe routine'",
        source="open-gpu-kernel-modules nv.c",
        over=("NO_DEVICES", "SMI_NO_DRIVER"),
    ),
    Rule(
        id="RM_LOCK_DEADLOCK",
        layer="module",
        when=_LOCKED,
        cause="{task} sleeps in the driver waiting for its RM lock, which is not given back: the driver is "
        "deadlocked.",
        unlike="A lock of nvidia-uvm has uvm_… functions in the stack.",
        next="Reboot the node. Do not start GPU containers at the same moment; keep persistence mode on; "
        "update the driver.",
        confirm="cat /proc/PID/stack of tasks in D state shows no rmapiLockAcquire.",
        source="NVIDIA/open-gpu-kernel-modules#968",
        over=("DRIVER_HUNG", "NVML_10"),
    ),
    Rule(
        id="UVM_LOCK_WAIT",
        layer="module",
        when=_UVM_WAIT,
        cause="{task} waits in nvidia-uvm for a GPU that is being initialised: without persistence mode "
        "every first user "
        "pays for that.",
        unlike="The RM lock has rmapiLockAcquire in the stack; a dead GPU has an Xid.",
        next="Turn persistence on (nvidia-persistenced), then start containers again.",
        confirm="nvidia-smi returns within a second; no new 'blocked for more than' line.",
        source="NVIDIA/k8s-device-plugin#77",
        over=("DRIVER_HUNG", "NVML_10"),
    ),
    Rule(
        id="DRIVER_HUNG",
        layer="module",
        when=every(_hung, no(_LOCKED), no(_UVM_WAIT)),
        cause="{task} (pid {pid}) has been stuck in the kernel for more than {seconds} s after GPU errors: "
        "the driver hangs, "
        "and such a task can't be killed.",
        unlike="A program that waits politely is in S state and can be killed.",
        next="Drain and reboot the node; keep the Xid lines for the report.",
        confirm="ps -eo pid,stat,wchan,comm | grep ' D' is empty.",
        source="leptonai/gpud PR 117",
        over=("XID_45", "NVML_10"),
    ),
)
