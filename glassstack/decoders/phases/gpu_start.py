"""From the first open to the first launch: how a program gets a GPU, here and on NVIDIA. Pure.

A rule's device keeps drivers apart: the same word may be another call elsewhere.
"""

from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.nvidia.table_classes import KINDS
from glassstack.decoders.phases.matching import Phase, Rule, Table

_CTL, _GPU, _UVM = "/dev/nvidiactl", r"/dev/nvidia\d+", r"/dev/nvidia-uvm(?:-tools)?"
_RM = r"/dev/nvidia(?:ctl|\d+)|"
_OUR_CTL, _OUR_GPU, _OUR_UVM = "/dev/fakegpuctl", r"/dev/fakegpu\d+", "/dev/fakegpu-uvm"
_LOOKS = "stat|lstat|newfstatat|statx|access|faccessat2?|readlink(?:at)?"
_FIND = "SYSTEM_.*|GPU_GET_(?:PROBED|ATTACHED|ACTIVE_DEVICE)_IDS|GPU_GET_(?:ID_INFO|PCI_INFO|UUID).*"


def _classes(*kinds: str) -> str:
    """Names of the classes of some kinds, as a regular expression."""
    return "|".join(name for name, kind in KINDS.items() if kind in kinds)


def _alloc(*kinds: str) -> Rule:
    return Rule("RM_ALLOC", _RM, {"class": _classes(*kinds)})


def _control(names: str) -> Rule:
    return Rule("RM_CONTROL", _RM, {"cmd": names})


def _our_mmap(low: int, high: int) -> Rule:
    return Rule("mmap", _OUR_GPU, {"offset": (low, high)})


PHASES = (
    Phase(
        "control",
        "open control",
        "The library opens the control node: is a driver there at all, and may this process reach it?",
        (
            Rule("open", f"{_CTL}|{_OUR_CTL}", lacks=("maps",)),
            Rule(_LOOKS, f"{_CTL}|{_OUR_CTL}|{_GPU}|{_UVM}|{_OUR_GPU}|{_OUR_UVM}"),
        ),
    ),
    Phase(
        "version",
        "version check",
        "Library and driver must be of one release. A mismatch ends here: error 803, or 35.",
        (Rule("CHECK_VERSION_STR", _RM), Rule("CHECK_VERSION", "/dev/fakegpu.*")),
    ),
    Phase(
        "root",
        "root client",
        "The client is the root of all objects of this program. Here the open file itself is that root.",
        (_alloc("root"),),
    ),
    Phase(
        "find",
        "which GPUs",
        "Which GPUs there are: PCI addresses, ids, UUIDs.",
        (
            Rule(
                "CARD_INFO|SYS_PARAMS|NUMA_INFO|ATTACH_GPUS_TO_FD|QUERY_DEVICE_INTR|WAIT_OPEN_COMPLETE", _RM
            ),
            _control(_FIND),
            Rule("INFO|USAGE|PROCESSES", _OUR_CTL),
        ),
    ),
    Phase(
        "uvm",
        "unified memory",
        "The memory manager is a driver of its own, behind its own node, and has to be told of the process.",
        (
            Rule("open", f"{_UVM}|{_OUR_UVM}"),
            Rule("UVM_(?:INITIALIZE|MM_INITIALIZE|PAGEABLE_MEM_ACCESS|REGISTER_GPU)", f"{_UVM}|"),
            Rule("UVM_INIT", _OUR_UVM),
        ),
    ),
    Phase(
        "device",
        "device",
        "The GPU's own node is opened and tied to the client. Here this open makes the context.",
        (
            Rule("open", f"{_GPU}|{_OUR_GPU}"),
            Rule("REGISTER_FD", _RM),
            _control("GPU_(?:ASYNC_)?ATTACH_IDS?"),
            _alloc("device"),
        ),
    ),
    Phase(
        "subdevice",
        "subdevice",
        "The one GPU that questions go to: name, memory, engines, compute mode.",
        (
            _alloc("subdevice"),
            _control("(?:GPU|GR|FB|BUS|MC|CE|PERF|HOST|NVLINK|GSP|ECC|TIMER|RC|CLIENT)_.*"),
            Rule("INFO", f"{_OUR_GPU}|{_OUR_UVM}"),
            Rule("CTX_INFO|USAGE|PROCESSES", "/dev/fakegpu.*"),
        ),
    ),
    Phase(
        "vaspace",
        "address space",
        "An address space of the GPU. Here each buffer has an offset of its own, and there is none.",
        (
            _alloc("vaspace"),
            Rule("UVM_REGISTER_GPU_VASPACE", f"{_UVM}|"),
            _control("VASPACE_.*"),
        ),
    ),
    Phase(
        "doorbell",
        "map doorbell",
        "The page with the doorbell is mapped: from now on work is handed over by a store to memory.",
        (
            _alloc("usermode"),
            Rule("RM_MAP_MEMORY", _RM, {"object": _classes("usermode")}),
            Rule("mmap", f"{_CTL}|{_GPU}", {"maps": "doorbell.*|.*of the size of a doorbell region"}),
            Rule("MAP", _OUR_GPU, {"what": "DOORBELL|FENCE|COMPLETION"}),
            _our_mmap(uapi.OFF_DOORBELL, uapi.OFF_RING),
        ),
    ),
    Phase(
        "channel",
        "channel",
        "A channel: a ring of commands, and an engine that works it off.",
        (
            _alloc("channel", "group", "engine"),
            _control("(?:GROUP_)?GPFIFO_.*|GET_CLASS_ENGINEID|BIND|FIFO_.*"),
            Rule("UVM_REGISTER_CHANNEL", f"{_UVM}|"),
            Rule("CHANNEL_CREATE", _OUR_GPU),
            Rule("MAP", _OUR_GPU, {"what": "RING"}),
            _our_mmap(uapi.OFF_RING, uapi.OFF_BUFFER),
        ),
    ),
    Phase(
        "memory",
        "memory",
        "Memory for data: allocated, then mapped for the program, the GPU, or both.",
        (
            _alloc("memory"),
            Rule("RM_VID_HEAP_CONTROL|RM_ALLOC_MEMORY|RM_MAP_MEMORY|RM_MAP_MEMORY_DMA", _RM),
            Rule("UVM_(?:CREATE|MAP|ALLOC|SET|MIGRATE|VALIDATE|ENABLE|DISABLE|UNMAP|FREE).*", f"{_UVM}|"),
            Rule("mmap", f"{_CTL}|{_GPU}|{_UVM}"),
            Rule("ALLOC", _OUR_GPU),
            Rule("MAP", _OUR_GPU, {"what": "BUFFER"}),
            _our_mmap(uapi.OFF_BUFFER, uapi.OFF_END),
        ),
    ),
    Phase(
        "events",
        "events",
        "What the program sleeps on where it does not poll memory.",
        (Rule("ALLOC_OS_EVENT|RM_GET_EVENT_DATA", _RM), _alloc("event"), _control("EVENT_.*")),
    ),
    Phase(
        "blind",
        "objects, not told which",
        "Objects and questions whose class or command this trace does not have, as in a strace log.",
        (
            Rule("RM_ALLOC", _RM, lacks=("class",)),
            Rule("RM_CONTROL", _RM, lacks=("cmd",)),
        ),
    ),
    Phase(
        "steady",
        "steady state",
        "Launches are stores to the ring and the doorbell: no call at all. Only submitting by ioctl is seen.",
        (Rule("SUBMIT|WAIT", _OUR_GPU),),
    ),
    Phase(
        "end",
        "end",
        "Objects are freed, mappings taken away, files closed; the driver frees what was left.",
        (
            Rule("RM_FREE|RM_UNMAP_MEMORY.*|FREE_OS_EVENT", _RM),
            Rule("UVM_(?:UNREGISTER.*|DEINITIALIZE)", f"{_UVM}|"),
            Rule("FREE|CHANNEL_DESTROY", _OUR_GPU),
            Rule("munmap|close|close_range", "/dev/(?:nvidia|fakegpu).*"),
        ),
    ),
)

GPU_START = Table("a program gets a GPU", PHASES, "steady", "doorbell", "end")
