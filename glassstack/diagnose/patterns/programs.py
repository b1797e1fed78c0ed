"""What GPU programs and NVIDIA's tools print: errors of CUDA and NVML, frameworks, Fabric Manager, strace."""

from glassstack.diagnose.patterns.base import DEVICE, VERSION, rows

_PRODUCT = r"(?:NVIDIA |Tesla |GeForce |Quadro |TITAN |RTX )[\w ./-]*?[\w)]"

PROGRAMS = rows(
    ("nvml_error", "failed to initialize nvml", r"[Ff]ailed to initialize NVML: (?P<text>[\w/ ]+\w)"),
    ("nvml_error", "failed to initialize fgml", r"Failed to initialize FGML: (?P<text>[\w/ ]+\w)"),
    ("nvml_error", "nvml error:", r"nvml error: (?P<text>[\w/ -]+\w)"),
    ("nvml_error", "insufficient permissions", r"(?<!NVML: )(?P<text>Insufficient Permissions)"),
    ("nvml_error", "nvml_error_", r"NVML_ERROR_(?P<name>[A-Z_]+)"),
    (
        "nvml_error",
        "nvml",
        r"(?i)nvml\w*(?:\(\))? (?:failed|returned|error)[^\d\n]{0,30}\b(?P<code>\d{1,3})\b",
    ),
    ("nvml_library", "nvml library version", rf"NVML library version: (?P<version>{VERSION})"),
    (
        "smi",
        "driver version",
        rf"NVIDIA-SMI (?P<smi>{VERSION}) +(?:KMD Version|Driver Version): (?P<driver>{VERSION}) +"
        r"CUDA (?:UMD )?Version: (?P<cuda>\d+\.\d+)",
    ),
    ("smi_q", "driver version", rf"^Driver Version +: (?P<driver>{VERSION})"),
    ("gpu", "gpu ", rf"^GPU +\d+: (?P<name>{_PRODUCT})(?: \(UUID.*)?$"),
    ("gpu", "|", rf"^\| +\d+ +(?P<name>{_PRODUCT}) +(?:On|Off)\b"),
    ("gpu", "product name", r"Product Name +: (?P<name>.*\S)"),
    ("smi_works", "gpu 0:", r"^GPU 0: .*\(UUID: GPU-"),
    ("cuda_error", "error ", r"\bError (?P<code>\d{1,3}): (?P<text>[a-zA-Z].*)"),
    ("cuda_error", "cuda", r"(?i)cuda[ _]?(?:driver |runtime )?error[ :=(]*(?P<code>\d{1,3})\b(?P<text>.*)"),
    (
        "cuda_error",
        "cuinit",
        r"(?i)cuinit\b[^\n]*?(?:[:=]|returned|failed with(?: error)?(?: code)?) *(?P<code>\d{1,3})\b",
    ),
    ("cuda_error", "cu.init", r"cu\.Init.*?(?P<name>unknown) error"),
    ("cuda_error", "cuda_error_", r"CUDA_ERROR_(?P<name>[A-Z_]+)"),
    ("cuda_error", "cudaerror", r"cudaError(?P<name>[A-Z]\w+)"),
    ("cuda_error", "system not yet initialized", r"(?P<name>system not yet initialized)"),
    (
        "cuda_error",
        "unsupported display driver",
        r"(?P<name>unsupported display driver) / cuda driver combination",
    ),
    ("cuda_error", "forward compatibility", r"(?P<name>forward compatibility was attempted)"),
    (
        "cuda_error",
        "driver version is insufficient",
        r"CUDA driver version is (?P<name>insufficient) for CUDA runtime",
    ),
    ("cuda_error", "no cuda-capable device", r"(?P<name>no CUDA-capable device) is detected"),
    ("cuda_error", "stub library", r"CUDA driver is a (?P<name>stub library)"),
    ("cuda_error", "illegal memory access", r"an (?P<name>illegal memory access) was encountered"),
    ("cuda_error", "jit compiler library", r"PTX (?P<name>JIT compiler library) not found"),
    ("cuda_error", "cuda", r"(?i)CUDA[^\n]*(?P<name>out of memory)"),
    ("no_devices", "no devices were found", r"No devices were found"),
    (
        "smi_no_driver",
        "couldn't communicate",
        r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    ),
    ("image_cuda", "cuda_version=", r"CUDA_VERSION=(?P<version>\d+\.\d+)"),
    (
        "fm_mismatch",
        "fabric manager",
        rf"driver interface version (?P<fm>{VERSION}) don't match with driver version (?P<driver>{VERSION})",
    ),
    ("fm_nothing", "nv_warn_nothing_to_do", r"NV_WARN_NOTHING_TO_DO"),
    (
        "fm_state",
        "fabricmanager",
        r"nvidia-fabricmanager(?:\.service)?.*?(?P<state>inactive|failed|could not be "
        r"found|not-found|active \(running\))",
    ),
    ("nvswitch", "nvswitch", r"(?:nvidia-nvswitch\d|NVSwitch.*(?:detected|device)|Bridge: NVIDIA.*NVSwitch)"),
    ("nvlsm", "nvlsm", r"(?i)nvlsm"),
    ("reg_mr", "cannot allocate memory", r"(?P<call>ibv_(?:reg_mr\w*|create_cq))\b.*Cannot allocate memory"),
    ("pin_failed", "pin", r"(?i)(?P<text>unable to pin host memory|failed to pin)"),
    ("pin_failed", "cudahostregister", r"(?i)(?P<text>cudaHostRegister.*(?:failed|out of memory|error))"),
    ("host_alloc_failed", "cudahostalloc", r"cudaHostAlloc[^\n]*(?:out of memory|failed|error)"),
    ("mlock_failed", "enomem", r"\bmlock(?:2|all)?\(.*= -1 ENOMEM"),
    (
        "open_failed",
        "= -1 e",
        rf"\bopen(?:at)?\((?:AT_FDCWD[^,]*, |\d+[^,]*, )?\"(?P<path>{DEVICE}|/dev/dri/\w+|/dev/kfd)\".* = "
        r"-1 (?P<errno>E\w+)",
    ),
    (
        "open_worked",
        "/dev/",
        rf"\bopen(?:at)?\((?:AT_FDCWD[^,]*, )?\"(?P<path>{DEVICE})\".* = (?P<fd>\d+)(?:<.*>)?$",
    ),
    (
        "library_absent",
        ".so",
        r"open(?:at)?\([^\"]{0,40}\"(?P<path>[^\"]{0,300}?(?P<name>lib"
        r"(?:nvidia-(?:ptxjitcompiler|nvvm|ml)|cuda)[\w.-]*))\".*ENOENT",
    ),
    (
        "library_absent",
        "cannot open shared object",
        r"(?P<name>lib(?:nvidia|cuda|fake)[\w.-]*): cannot open shared object file",
    ),
    ("clock_denied", "clock_gettime", r"clock_gettime\(.* = -1 EPERM"),
    ("rm_control", "0x46", r"ioctl\((?P<fd>\d+)[^,]*, _IOC\([^)]*0x46, 0x2a, [^)]*\).* = (?P<result>-?\d+)"),
    ("ioctl_stuck", "ioctl", r"ioctl\(\d+</dev/(?:nvidia|fakegpu)[^,]*,.*<unfinished \.\.\.>$"),
)
