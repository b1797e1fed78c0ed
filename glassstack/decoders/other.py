"""Ioctls of drivers that are named and not decoded: DRM nodes and AMD's kfd. Pure.

Numbers are those of the kernel's headers drm.h and kfd_ioctl.h. What DRM
leaves to each driver (0x40 to 0x9f) is told as that.
"""

from glassstack.decoders import ioc

_DRM_TEXT = (
    "VERSION GET_UNIQUE GET_MAGIC IRQ_BUSID GET_MAP GET_CLIENT GET_STATS SET_VERSION MODESET_CTL GEM_CLOSE "
    "GEM_FLINK GEM_OPEN GET_CAP SET_CLIENT_CAP"
)
_DRM_MORE = {
    0x11: "AUTH_MAGIC", 0x1E: "SET_MASTER", 0x1F: "DROP_MASTER", 0x2D: "PRIME_HANDLE_TO_FD",
    0x2E: "PRIME_FD_TO_HANDLE", 0xA0: "MODE_GETRESOURCES", 0xA1: "MODE_GETCRTC", 0xA2: "MODE_SETCRTC",
    0xA6: "MODE_GETENCODER", 0xA7: "MODE_GETCONNECTOR", 0xAE: "MODE_ADDFB", 0xAF: "MODE_RMFB",
    0xB0: "MODE_PAGE_FLIP", 0xBC: "MODE_ATOMIC", 0xBF: "SYNCOBJ_CREATE", 0xC0: "SYNCOBJ_DESTROY",
    0xC1: "SYNCOBJ_HANDLE_TO_FD", 0xC2: "SYNCOBJ_FD_TO_HANDLE", 0xC3: "SYNCOBJ_WAIT", 0xC4: "SYNCOBJ_RESET",
    0xC5: "SYNCOBJ_SIGNAL", 0xCA: "SYNCOBJ_TIMELINE_WAIT", 0xCB: "SYNCOBJ_QUERY",
    0xCC: "SYNCOBJ_TRANSFER", 0xCD: "SYNCOBJ_TIMELINE_SIGNAL",
}  # fmt: skip
DRM = {**dict(enumerate(_DRM_TEXT.split())), **_DRM_MORE}
"""Number → name without DRM_IOCTL_."""

_KFD_TEXT = (
    "GET_VERSION CREATE_QUEUE DESTROY_QUEUE SET_MEMORY_POLICY GET_CLOCK_COUNTERS GET_PROCESS_APERTURES "
    "UPDATE_QUEUE CREATE_EVENT DESTROY_EVENT SET_EVENT RESET_EVENT WAIT_EVENTS DBG_REGISTER_DEPRECATED "
    "DBG_UNREGISTER_DEPRECATED DBG_ADDRESS_WATCH_DEPRECATED DBG_WAVE_CONTROL_DEPRECATED "
    "SET_SCRATCH_BACKING_VA GET_TILE_CONFIG SET_TRAP_HANDLER GET_PROCESS_APERTURES_NEW ACQUIRE_VM "
    "ALLOC_MEMORY_OF_GPU FREE_MEMORY_OF_GPU MAP_MEMORY_TO_GPU UNMAP_MEMORY_FROM_GPU SET_CU_MASK "
    "GET_QUEUE_WAVE_STATE GET_DMABUF_INFO IMPORT_DMABUF ALLOC_QUEUE_GWS SMI_EVENTS SVM SET_XNACK_MODE "
    "CRIU_OP AVAILABLE_MEMORY"
)
KFD = dict(enumerate(_KFD_TEXT.split(), 1))
"""Number → name without AMDKFD_IOC_."""

_TYPES = {"drm": (ord("d"), DRM, "DRM_IOCTL_"), "kfd": (ord("K"), KFD, "AMDKFD_IOC_")}


def name_of(family: str, request: int) -> str:
    """The name of an ioctl of a "drm" or "kfd" node; the number where it has none."""
    kind, names, prefix = _TYPES[family]
    parts = ioc.split(request)
    if parts.type != kind:
        return ioc.label(request)
    known = names.get(parts.nr)
    if known:
        return prefix + known
    if family == "drm" and 0x40 <= parts.nr < 0xA0:
        return f"DRM_COMMAND_BASE+0x{parts.nr - 0x40:02x}"
    return ioc.label(request)
