"""One plain-words line for a call, and what NVIDIA has in its place. Pure."""

from typing import NamedTuple

from glassstack.decoders import fakegpu
from glassstack.decoders.nvidia import words
from glassstack.decoders.registry import family
from glassstack.model.events import Syscall


class Explanation(NamedTuple):
    """What a call does and why it failed; ``counterpart`` is "" where there is none to name."""

    text: str
    counterpart: str


_NODE = {
    "/dev/fakegpuctl": "/dev/nvidiactl: the driver makes a file; RM_ALLOC of NV01_ROOT_CLIENT comes next",
    "/dev/fakegpu-uvm": "/dev/nvidia-uvm; UVM_INITIALIZE comes next",
}
_GPU_NODE = "/dev/nvidia0: the adapter is brought up if need be; NV_ESC_REGISTER_FD ties it to nvidiactl"

_CALLS: dict[str, tuple[str, str]] = {
    "open": (
        "Opens the node: the driver makes a context that this open file owns.",
        "open(2) of {node}",
    ),
    "mmap": (
        "Maps device memory: from now on loads and stores reach it without a syscall.",
        "mmap(2) on a descriptor that NV_ESC_RM_MAP_MEMORY prepared",
    ),
    "munmap": ("Takes a mapping of the device away.", "munmap(2), then NV_ESC_RM_UNMAP_MEMORY"),
    "close": (
        "Drops a descriptor; with the last one and the last mapping the driver frees the whole context.",
        "close(2): the driver frees every object of the client",
    ),
    "dup": ("Makes another descriptor of the same context.", "the same"),
    "stat": ("Looks at the node without opening it: is it there, a device, readable?", "the same"),
    "readlink": ("Asks whether the path is a link.", "the same"),
}
_SAME = {
    **dict.fromkeys(("openat", "openat2", "creat"), "open"),
    **dict.fromkeys(("dup2", "dup3", "fcntl"), "dup"),
    "close_range": "close",
    **dict.fromkeys(("newfstatat", "statx", "lstat", "fstat", "access", "faccessat", "faccessat2"), "stat"),
    "readlinkat": "readlink",
}
_ERRORS = {
    "open": {
        "ENOENT": "there is no such node (in this process's root)",
        "EACCES": "mode bits or access mode refuse it; fakegpu wants O_RDWR",
        "EPERM": "a device cgroup refuses it",
        "ENXIO": "no driver stands behind the node's number",
        "ENODEV": "the device is gone",
        "EIO": "the driver could not bring the device up",
        "EMFILE": "the process has no descriptor left",
    },
    "mmap": {
        "EINVAL": "the offset is no multiple of a page, or names nothing that was prepared",
        "EACCES": "the descriptor's mode does not allow it",
        "ENOMEM": "no room for the mapping",
    },
}

_NVIDIA_ERRORS = {
    "EINVAL": "no such ioctl of this size, or the GPU is lost",
    "EFAULT": "a pointer is not the program's memory",
    "EIO": "the node has no device behind it",
}


def explain(call: Syscall) -> Explanation:
    """What a call does, for one who sees it for the first time."""
    if call.syscall == "ioctl":
        return _ioctl(call)
    kind = _SAME.get(call.syscall, call.syscall)
    known = _CALLS.get(kind)
    if known is None:
        return Explanation(_failed(f"The syscall {call.syscall}.", call, {}), "")
    ours = family(call.device) == "fakegpu"
    counterpart = known[1].format(node=_NODE.get(call.device, _GPU_NODE)) if ours else ""
    return Explanation(_failed(known[0], call, _ERRORS.get(kind, {})), counterpart)


def _ioctl(call: Syscall) -> Explanation:
    known = fakegpu.BY_NAME.get(call.name) if family(call.device) == "fakegpu" else None
    if known is not None:
        return Explanation(
            _failed(known.text, call, {**fakegpu.COMMON_ERRORS, **known.errors}), known.counterpart
        )
    nvidia = words.explain(call) if family(call.device).startswith("nvidia") else ""
    if nvidia:
        return Explanation(_failed(nvidia, call, _NVIDIA_ERRORS), "")
    if not call.device and call.name.endswith("?"):
        text = f"By its number {call.name[:-1]} on an NVIDIA node, which is not sure. {words.explain(call)}"
    elif call.name.endswith("?"):
        text = f"A {call.name[:-1]} of another size or direction than this driver's header has."
    else:
        text = "An ioctl that no decoder here knows; the fields show its number taken apart."
    return Explanation(_failed(text, call, fakegpu.COMMON_ERRORS), "")


def _failed(text: str, call: Syscall, errors: dict[str, str]) -> str:
    if call.errno is None:
        return text
    why = errors.get(call.errno)
    return f"{text} It failed with {call.errno}" + (f": {why}." if why else ".")
