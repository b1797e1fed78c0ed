"""Xids in plain words: what happened, and what one does about it. Pure.

The numbers and the classes of action are the real driver's; the words are ours.
"""

from typing import NamedTuple


class Meaning(NamedTuple):
    """What an Xid says and asks for."""

    what: str
    action: str


APP = "restart the program; the GPU goes on"
IGNORE = "nothing to do for the GPU"
RESET = "reset the GPU (drain it first)"
NODE = "drain and reboot the node"
LINK = "check the NVLink partner and cables; follow the NVLink procedure"
CHECK = "check power and seating"
SUPPORT = "collect a bug report and contact support"

_OURS = "a fault of the program first; a GPU where it repeats wants a diagnosis"

XIDS: dict[int, Meaning] = {
    8: Meaning("the GPU stopped processing (idle timeout)", APP),
    11: Meaning("an invalid or corrupted push buffer", APP),
    13: Meaning(f"an exception in a shader or kernel: {_OURS}", APP),
    25: Meaning("an illegal stream in the push buffer", APP),
    31: Meaning(f"a page fault in GPU memory (MMU): {_OURS}", APP),
    32: Meaning("a corrupted push buffer: the ring holds what is no command", APP),
    37: Meaning("an error in the driver's firmware", IGNORE),
    38: Meaning("an error in the driver's firmware", IGNORE),
    43: Meaning("a channel was reset because of the program; the GPU is healthy", IGNORE),
    44: Meaning("a fault during a context switch", IGNORE),
    45: Meaning("a clean-up after an earlier error", "look at the Xid before it"),
    46: Meaning("the GPU stopped processing (timeout)", RESET),
    48: Meaning("a double-bit ECC error, not correctable", RESET),
    54: Meaning("auxiliary power is not connected", CHECK),
    61: Meaning("a breakpoint in the power management unit", SUPPORT),
    62: Meaning("the power management unit halted", RESET),
    63: Meaning("a memory row was marked for remapping; it takes effect at the next reset", IGNORE),
    64: Meaning("remapping a memory row failed; if it persists, the board is to be replaced", RESET),
    66: Meaning("an illegal access by the driver", IGNORE),
    67: Meaning("an illegal access by the driver", IGNORE),
    68: Meaning("an exception in the video decoder", APP),
    69: Meaning("a class error in the graphics engine", APP),
    74: Meaning("an NVLink error", LINK),
    78: Meaning("a vGPU could not start", "bring both sides to matching versions"),
    79: Meaning("the GPU has fallen off the bus: nothing on PCIe answers", f"{NODE}; {CHECK}"),
    80: Meaning("a push buffer with a wrong checksum", APP),
    92: Meaning("many single-bit ECC errors", "watch it"),
    93: Meaning("the InfoROM is worn out", IGNORE),
    94: Meaning("a memory error contained in one context", f"{APP}; reset it when convenient"),
    95: Meaning("a memory error that could not be contained", RESET),
    109: Meaning("a context switch timed out: the engine hangs", RESET),
    110: Meaning("a security fault", RESET),
    119: Meaning("the firmware (GSP) did not answer a call in time", RESET),
    120: Meaning("the firmware (GSP) failed", RESET),
    121: Meaning("an error on the link to the CPU (C2C)", IGNORE),
    136: Meaning("a link could not be trained", RESET),
    137: Meaning("an NVLink access without the right", IGNORE),
    140: Meaning("an ECC error that was not recovered", RESET),
    141: Meaning("an error in the CUDA fast path", IGNORE),
    143: Meaning("the GPU could not be initialised", RESET),
    151: Meaning("a key rotation failed (confidential computing)", "restart the VM"),
    154: Meaning("the action that recovers the GPU has changed", "do what the line says"),
    155: Meaning("an NVLink error defined by software", RESET),
    156: Meaning("a resource was retired", RESET),
    157: Meaning("a resource could not be retired", IGNORE),
    158: Meaning("a fatal timeout of the GPU", RESET),
    160: Meaning("a channel of memory was retired", IGNORE),
    161: Meaning("a channel of memory could not be retired", IGNORE),
    167: Meaning("a fatal timeout on PCIe", NODE),
    168: Meaning("less memory capacity than there should be", SUPPORT),
    169: Meaning("the security processor (SEC2) halted", RESET),
    170: Meaning("an error of secure NVLink", LINK),
    171: Meaning("an uncorrectable error in DRAM (goes with 48)", RESET),
    172: Meaning("an uncorrectable error in SRAM (goes with 48)", RESET),
    173: Meaning("a fatal error on the link to the CPU (C2C)", NODE),
    **dict.fromkeys((39, 40, 41, 70, 71, 72, 75, 76, 77, 85), Meaning("an exception in a copy engine", APP)),
    **dict.fromkeys(range(144, 151), Meaning("an error of an NVLink 5 unit", LINK)),
}


def explain(xid: int) -> str:
    """One line: what it means, and what one does."""
    known = XIDS.get(xid)
    if known is None:
        return f"Xid {xid} is not in the table; look it up in NVIDIA's Xid catalog"
    return f"Xid {xid}: {known.what}. What to do: {known.action}."
