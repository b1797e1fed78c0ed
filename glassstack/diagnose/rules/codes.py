"""Error numbers of CUDA and NVML when nothing more precise explains them: what fits, what would decide."""

from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Candidate, Rule, every, has, no, seen, some
from glassstack.diagnose.words import CUDA, NVML

_LOOK_VERSIONS = (
    "cat /proc/driver/nvidia/version; ldconfig -p | grep -e libcuda.so -e libnvidia-ml; nvidia-smi"
)
_UVM_LOADED = seen("major", name=has("uvm"))

_CUDA_EITHER: dict[int, tuple[Candidate, ...]] = {
    999: (
        Candidate("UVM_NOT_LOADED", "nvidia-uvm is not loaded", _UVM_LOADED),
        Candidate("STALE_NODE_MAJOR", "its node or a CDI spec has an old major"),
        Candidate("UVM_STALE_AFTER_SUSPEND", "it lost its state in a suspend"),
        Candidate("CGROUP_DENY", "a device cgroup forbids it", seen("open_worked", path=has("uvm"))),
    ),
    803: (
        Candidate("SKEW_MODULE_OLD", "libraries and module of different drivers"),
        Candidate("COMPAT_OVERRIDES_NEWER_DRIVER", "a compat libcuda in front of the driver's"),
    ),
    804: (
        Candidate("COMPAT_ON_UNSUPPORTED_GPU", "a compat libcuda on a GPU that is not for data centres"),
        Candidate("COMPAT_OVERRIDES_NEWER_DRIVER", "a compat libcuda older than the driver"),
    ),
    802: (
        Candidate("FM_NOT_RUNNING", "an NVSwitch machine without Fabric Manager"),
        Candidate("FM_VERSION_MISMATCH", "Fabric Manager of another version than the driver"),
        Candidate("CONFIDENTIAL_COMPUTING", "confidential computing is on and the GPU is not set ready"),
    ),
    100: (
        Candidate("NOT_INJECTED", "the container was started without a GPU"),
        Candidate("VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES hides it"),
        Candidate("MODULE_NOT_LOADED", "no driver is loaded", some(seen("proc_version"), seen("smi"))),
        Candidate("FALLEN_OFF_BUS", "the GPU is lost or failed to start", seen("smi_works")),
    ),
    35: (
        Candidate("DRIVER_TOO_OLD", "the host's driver is older than the program's CUDA"),
        Candidate("STUB_LIBCUDA", "a stub or no libcuda is found"),
    ),
    46: (
        Candidate("EXCLUSIVE_MODE", "the GPU is in exclusive mode and taken"),
        Candidate("XID_EARLIER", "it hangs after an Xid"),
    ),
    2: (
        Candidate("GPU_MEMORY_FULL", "the GPU's memory is used up, by this or another process"),
        Candidate("MEMLOCK", "host memory could not be pinned"),
    ),
    700: (
        Candidate("PROGRAM_FAULT", "a fault of the program (an Xid 31 or 13 goes with it)"),
        Candidate("GPU_FAULT", "the GPU, where it follows the device and not the program"),
    ),
}
_CUDA_DECIDE = {
    999: "grep nvidia-uvm /proc/devices; ls -l /dev/nvidia-uvm; dmesg | grep -e 'PM: suspend' | tail -1",
    803: _LOOK_VERSIONS,
    804: "nvidia-smi -L; grep libcuda /proc/PID/maps; ldconfig -p | grep libcuda.so.1",
    802: "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric",
    100: "nvidia-smi -L; ls -l /dev/nvidia*; env | grep VISIBLE_DEVICES",
    35: _LOOK_VERSIONS,
    46: "nvidia-smi --query-gpu=compute_mode,uuid --format=csv; nvidia-smi",
    2: "nvidia-smi --query-compute-apps=pid,used_memory --format=csv; ulimit -l",
    700: "compute-sanitizer PROGRAM; dmesg | grep Xid",
}
_NVML_EITHER: dict[int, tuple[Candidate, ...]] = {
    999: (
        Candidate("CGROUP_RELOAD", "systemd rebuilt the container's device rules (it worked before)"),
        Candidate("CGROUP_RESET_BY_KUBELET", "the kubelet's static CPU manager did"),
        Candidate(
            "NO_CGROUPS_MISUSED", "no-cgroups = true in a rootful setup", seen("no_cgroups", value="false")
        ),
        Candidate("CGROUP_DENY", "the container never had the permission"),
    ),
    18: (
        Candidate("SKEW_MODULE_OLD", "libraries upgraded, old module still loaded"),
        Candidate("SKEW_PACKAGES", "a half-done upgrade: the module was not rebuilt"),
        Candidate("IMAGE_SHIPS_DRIVER_LIB", "the image brings a library of its own"),
    ),
    4: (
        Candidate("NODE_MODE", "the nodes are open to a group only"),
        Candidate("SELINUX", "SELinux forbids it"),
        Candidate("MIG_CAPS_DENIED", "MIG is on and its capability nodes are closed"),
    ),
    9: (
        Candidate("MODULE_NOT_LOADED", "the module is not loaded"),
        Candidate("NODES_NOT_CREATED", "it is, and there are no nodes", seen("node")),
    ),
    12: (
        Candidate("NOT_INJECTED", "a container without the driver's libraries"),
        Candidate("DRIVER_NOT_INSTALLED", "no driver installed"),
    ),
    15: (Candidate("XID_79", "it fell off the bus"), Candidate("XID_119", "its firmware is silent")),
    17: (
        Candidate("CGROUP_DENY", "a device cgroup forbids nvidiactl"),
        Candidate("NODE_MODE", "the mode of the node does"),
    ),
}
_NVML_DECIDE = {
    999: "strace -e trace=openat nvidia-smi 2>&1 | grep nvidiactl; grep no-cgroups "
    "/etc/nvidia-container-runtime/config.toml",
    18: _LOOK_VERSIONS,
    4: "ls -l /dev/nvidia* /dev/nvidia-caps; id; ausearch -m avc -ts recent",
    9: "lsmod | grep nvidia; ls -l /dev/nvidia*; dmesg | grep -i nvrm | tail",
    12: "ldconfig -p | grep libnvidia-ml; env | grep NVIDIA_VISIBLE",
    15: "dmesg | grep -e Xid -e 'fallen off'; lspci -d 10de:",
    17: "strace -e trace=openat nvidia-smi 2>&1 | grep nvidiactl",
}


def _cuda(code: int) -> Rule:
    name, words = CUDA[code]
    return Rule(
        id=f"CUDA_{code}",
        layer="app",
        when=ask.cuda(code),
        cause=f"CUDA error {code} ({name}): {words}.",
        next="Find out which of these causes it is." if code in _CUDA_DECIDE else _CUDA_NEXT.get(code, _LOOK),
        confirm="The program runs without it.",
        source="CUDA driver API",
        either=_CUDA_EITHER.get(code, ()),
        decide=_CUDA_DECIDE.get(code, ""),
        over=("NVML_*",) if code in (802,) else (),
    )


def _nvml(code: int) -> Rule:
    name, words = NVML[code]
    return Rule(
        id=f"NVML_{code}",
        layer="app",
        when=ask.nvml(code),
        cause=f"NVML error {code} ({name}): {words}.",
        next="Find out which of these causes it is." if code in _NVML_DECIDE else _LOOK,
        confirm="nvidia-smi works.",
        source="NVML API",
        either=_NVML_EITHER.get(code, ()),
        decide=_NVML_DECIDE.get(code, ""),
        over={18: ("CUDA_803",), 9: ("CUDA_100",), 999: ("CUDA_999", "CUDA_100")}.get(code, ()),
    )


_LOOK = "Read the kernel's log of that moment (dmesg | grep -e NVRM -e Xid) together with the program's "
"own output."
_CUDA_NEXT = {
    34: "Find which libcuda is loaded: grep libcuda /proc/PID/maps; take …/stubs off the library path.",
    36: "Upgrade the driver to the one that came with the program's CUDA, or leave out the newer call.",
    101: "Compare the index with CUDA_VISIBLE_DEVICES and nvidia-smi -L.",
    209: "Build for this GPU's architecture (nvcc -gencode), or install a build of the framework that has "
    "it.",
    214: "Look for Xid 48, 94, 95 in dmesg and do what it says.",
    218: "Build the PTX again; a truncated cache (~/.nv/ComputeCache) can be removed.",
    221: "Install or inject libnvidia-ptxjitcompiler.so.1 of the driver's version.",
    222: "Build for a real architecture, not only PTX, or upgrade the driver: its PTX compiler is older "
    "than the PTX.",
    719: "Run compute-sanitizer; look for Xid 13 or 31.",
    805: "Start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY.",
    808: "Fewer clients per MPS server, or none.",
}


def _cli(stage: str, id: str) -> Rule:
    return Rule(
        id=id,
        layer="runtime",
        when=every(seen("cli_error", stage=has(stage)), no(seen("no_gpu_driver"))),
        cause="nvidia-container-cli stopped with: {text}",
        next="Run it by hand with a log: nvidia-container-cli -k -d /dev/tty info.",
        confirm="nvidia-container-cli info works.",
        decide="nvidia-container-cli -k -d /dev/tty info",
        source="NVIDIA/libnvidia-container",
    )


RULES = (
    *(_cuda(code) for code in CUDA),
    *(_nvml(code) for code in NVML),
    _cli("initialization", "CLI_INIT"),
    _cli("mount", "CLI_MOUNT"),
    _cli("requirement", "CLI_REQUIREMENT"),
    _cli("ldcache", "CLI_LDCACHE"),
)
