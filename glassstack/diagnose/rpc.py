"""What the GPU's firmware was asked to do when it did not answer: numbers in words. Pure."""

CLASSES = {
    0x0: "root client",
    0x5: "event",
    0x41: "root client",
    0x3E: "system memory",
    0x40: "video memory",
    0x70: "virtual memory",
    0x71: "pinned user pages",
    0x80: "device",
    0x2080: "subdevice",
    0x503B: "peer-to-peer",
    0x503C: "third-party peer-to-peer (GPUDirect)",
    0x9067: "context share",
    0x90F1: "address space",
    0xA06C: "channel group",
    0xC06F: "channel (Pascal)",
    0xC36F: "channel (Volta)",
    0xC46F: "channel (Turing)",
    0xC56F: "channel (Ampere)",
    0xC86F: "channel (Hopper)",
    0xC96F: "channel (Blackwell)",
    0xC361: "doorbell (Volta)",
    0xC461: "doorbell (Turing)",
    0xC561: "doorbell (Ampere)",
    0xC661: "doorbell (Hopper)",
    0xC5C0: "compute (Turing)",
    0xC6C0: "compute (Ampere)",
    0xC9C0: "compute (Ada)",
    0xCBC0: "compute (Hopper)",
    0xCDC0: "compute (Blackwell)",
    0xC8B5: "copy engine (Hopper)",
    0xC6B5: "copy engine (Ampere)",
}

CONTROLS = {
    0x101: "read the build version",
    0x201: "list attached GPUs",
    0x202: "identify a GPU",
    0x20800102: "read GPU information",
    0x20800110: "read the GPU's name",
    0x2080012F: "read the ECC state",
    0x2080014A: "read the GPU's UUID",
    0x20800170: "list engines",
    0x2080018D: "list processes on the GPU",
    0x2080018E: "read a process's use of the GPU",
    0x208001A3: "ask for the state of the NVLink fabric",
    0x20801201: "read graphics information",
    0x20801303: "read memory information",
    0x20801344: "read the remapped rows",
    0x20801701: "read the architecture",
    0x20801702: "service interrupts (a wait on the GPU)",
    0x20801803: "read the PCI windows",
    0x2080200A: "raise the clocks",
    0x20802068: "read the performance state",
    0x20802209: "read the watchdog",
    0x20803001: "read the NVLink capabilities",
    0x20803002: "read the NVLink state",
    0x20803401: "read the ECC counters",
    0xA06C0101: "schedule a channel group",
    0xA06F0103: "schedule a channel",
    0xC36F0108: "get the doorbell token of a channel",
}


def rpc(function: str, number: int) -> str:
    """A call to the firmware in words: ``RM_CONTROL 0x20800110: read the GPU's name``."""
    if function == "RM_ALLOC":
        return f"RM_ALLOC of class {number:#x}: {CLASSES.get(number, 'class not in the table')}"
    known = (
        CONTROLS.get(number) or f"class {number >> 16:#x}, category {number >> 8 & 0xFF:#x}, not in the table"
    )
    return f"RM_CONTROL {number:#x}: {known}"
