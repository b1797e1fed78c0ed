"""Numbers of the driver, CUDA and NVML in words. Pure data; the numbers are NVIDIA's, the words are ours."""

from glassstack.decoders.nvidia.table_status import STATUS

NV_STATUS = {
    number: "NVLINK error" if name.startswith("NVLINK_0x") else name for number, name in STATUS.items()
}

INIT_STAGE = {
    0x10: "setting up registers",
    0x11: "checking the system's environment",
    0x20: "allocating the GPU",
    0x21: "creating the device",
    0x22: "attaching the GPU",
    0x23: "preparing the state (pre-init)",
    0x24: "initialising the state",
    0x25: "loading the state",
    0x26: "configuring DMA",
    0x27: "widening the visible memory",
    0x30: "reading the VBIOS",
    0x31: "reading the VBIOS",
    0x32: "reading the VBIOS",
    0x40: "setting up scalability",
    0x41: "starting the watchdog",
    0x42: "setting up the RM API",
    0x43: "collecting GPU information",
    0x60: "choosing the firmware policy",
    0x61: "fetching the firmware",
    0x62: "starting the GSP firmware",
}

CUDA = {
    2: ("OUT_OF_MEMORY", "device memory is used up"),
    3: ("NOT_INITIALIZED", "the driver was used before cuInit"),
    30: ("UNKNOWN", "an unknown error (before CUDA 10.1)"),
    34: ("STUB_LIBRARY", "the link-time stub of libcuda was loaded"),
    35: ("INSUFFICIENT_DRIVER", "the driver is older than the CUDA runtime asks for"),
    36: ("CALL_REQUIRES_NEWER_DRIVER", "this call is newer than the driver"),
    46: ("DEVICES_UNAVAILABLE", "all devices are held by others or in exclusive mode"),
    100: ("NO_DEVICE", "no usable device was found"),
    101: ("INVALID_DEVICE", "the program named a device that it can't see"),
    209: ("NO_BINARY_FOR_GPU", "the program has no code for this GPU's architecture"),
    214: ("ECC_UNCORRECTABLE", "memory of the GPU had an error that ECC could not correct"),
    218: ("INVALID_PTX", "the PTX could not be compiled"),
    221: ("JIT_COMPILER_NOT_FOUND", "the library that compiles PTX was not found"),
    222: ("UNSUPPORTED_PTX_VERSION", "the PTX is newer than the driver's compiler"),
    304: ("OPERATING_SYSTEM", "a call to the operating system failed"),
    700: ("ILLEGAL_ADDRESS", "a kernel touched an illegal address"),
    712: ("HOST_MEMORY_ALREADY_REGISTERED", "host memory was registered twice"),
    719: ("LAUNCH_FAILED", "a kernel failed while it ran"),
    800: ("NOT_PERMITTED", "the operation is not permitted"),
    801: ("NOT_SUPPORTED", "the operation is not supported here"),
    802: ("SYSTEM_NOT_READY", "the NVLink fabric is not up"),
    803: ("SYSTEM_DRIVER_MISMATCH", "libcuda and the kernel driver do not fit each other"),
    804: ("COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility is not offered on this GPU"),
    805: ("MPS_CONNECTION_FAILED", "the MPS control daemon could not be reached"),
    806: ("MPS_RPC_FAILURE", "a call to the MPS server failed"),
    807: ("MPS_SERVER_NOT_READY", "the MPS server is not ready"),
    808: ("MPS_MAX_CLIENTS_REACHED", "the MPS server has all the clients it takes"),
    999: ("UNKNOWN", "an unknown error, most often of nvidia-uvm"),
}

NVML = {
    1: ("UNINITIALIZED", "the library was used before it was initialised"),
    3: ("NOT_SUPPORTED", "this GPU does not offer that"),
    4: ("NO_PERMISSION", "the caller may not do that"),
    6: ("NOT_FOUND", "what was asked for does not exist"),
    9: ("DRIVER_NOT_LOADED", "no driver answers: its module is not loaded"),
    10: ("TIMEOUT", "the driver did not answer in time"),
    12: ("LIBRARY_NOT_FOUND", "libnvidia-ml.so.1 was not found"),
    13: ("FUNCTION_NOT_FOUND", "libnvidia-ml is older than the program"),
    15: ("GPU_IS_LOST", "the GPU does not answer on the bus"),
    16: ("RESET_REQUIRED", "the GPU needs a reset"),
    17: ("OPERATING_SYSTEM", "the control device is blocked by the system or a cgroup"),
    18: ("LIB_RM_VERSION_MISMATCH", "libnvidia-ml and the kernel driver have different versions"),
    19: ("IN_USE", "the GPU is in use"),
    999: ("UNKNOWN", "nvidiactl could not be opened, most often: not permitted by a device cgroup"),
}

CUDA_BY_NAME = {name.replace("_", "").lower(): number for number, (name, _) in CUDA.items() if number != 30}
NVML_BY_TEXT = {
    "driver/library version mismatch": 18,
    "driver not loaded": 9,
    "unknown error": 999,
    "insufficient permissions": 4,
    "no permission": 4,
    "gpu is lost": 15,
    "operating system": 17,
    "not supported": 3,
    "not found": 6,
    "timeout": 10,
    "function not found": 13,
    "in use": 19,
    "uninitialized": 1,
    "library not found": 12,
}

RPC_FUNCTION = {"76": "RM_CONTROL", "103": "RM_ALLOC"}


def status(number: int) -> str:
    """An NV_STATUS in words: ``MEMORY_ERROR (0x72)``."""
    return f"{NV_STATUS.get(number, 'a status not in the table')} ({number:#x})"


def stage(number: int) -> str:
    """Where RmInitAdapter was: ``initialising the state (0x24)``."""
    return f"{INIT_STAGE.get(number, 'a stage not in the table')} ({number:#x})"
