"""NV_STATUS: what the driver answers inside the argument; ioctl(2) itself says 0 all the same."""

STATUS = {
    0x00: "OK",
    0x0F: "GPU_IS_LOST",
    0x16: "ILLEGAL_ACTION",
    0x17: "IN_USE",
    0x1A: "INSUFFICIENT_RESOURCES",
    0x1B: "INSUFFICIENT_PERMISSIONS",
    0x1F: "INVALID_ARGUMENT",
    0x22: "INVALID_CLASS",
    0x23: "INVALID_CLIENT",
    0x31: "INVALID_OBJECT",
    0x33: "INVALID_OBJECT_HANDLE",
    0x36: "INVALID_OBJECT_PARENT",
    0x3A: "INVALID_PARAM_STRUCT",
    0x40: "INVALID_STATE",
    0x45: "IRQ_NOT_FIRING",
    0x4B: "MODULE_LOAD_FAILED",
    0x51: "NO_MEMORY",
    0x55: "NOT_READY",
    0x56: "NOT_SUPPORTED",
    0x57: "OBJECT_NOT_FOUND",
    0x59: "OPERATING_SYSTEM",
    0x62: "RESET_REQUIRED",
    0x63: "STATE_IN_USE",
    0x65: "TIMEOUT",
    0x66: "TIMEOUT_RETRY",
    0x6A: "LIB_RM_VERSION_MISMATCH",
    0x72: "MEMORY_ERROR",
    0x74: "NVLINK_0x74",
    0x75: "NVLINK_0x75",
    0x76: "NVLINK_0x76",
    0x77: "NVLINK_0x77",
    0x78: "NVLINK_0x78",
    0x7A: "FABRIC_MANAGER_NOT_PRESENT",
    0x7F: "SECURE_BOOT_FAILED",
    0x81: "NVLINK_FABRIC_NOT_READY",
    0x82: "NVLINK_FABRIC_FAILURE",
    0x87: "FABRIC_STATE_OUT_OF_SYNC",
    0xFFFF: "GENERIC",
    0x10005: "WARN_MORE_PROCESSING_REQUIRED",
    0x10006: "WARN_NOTHING_TO_DO",
}


def status_text(value: int) -> str:
    """ "OK", "NO_MEMORY (0x51)"; the number alone where it has no name here."""
    name = STATUS.get(value)
    if name is None:
        return f"0x{value:x}"
    return name if value == 0 else f"{name} (0x{value:x})"
