"""What a strace log told about itself, and what no strace log can tell. Pure."""

import re
from dataclasses import dataclass, field

from glassstack.decoders import ioc
from glassstack.decoders.nvidia.frontend import RM_ALLOC
from glassstack.model.entities import Capability

_LIBRARY = re.compile(r"(lib(?:cuda|nvidia-[\w-]+|nvcuvid|fakecuda\w*|fakeml)\.so)\.(\d+\.\d+(?:\.\d+)?)")

ARGUMENTS = Capability(
    "arguments of ioctls",
    False,
    "strace prints only the pointer: classes, commands and NV_STATUS are not in its log, and a call "
    "that returned 0 may have been refused",
    "trace the program with `glassstack trace`",
)
STEADY = Capability(
    "work in the steady state",
    False,
    "once the doorbell is mapped, launches are stores to memory: a silent log is not a hang",
    "watch doorbells and fences with `glassstack fences`",
)
ALWAYS = (ARGUMENTS, STEADY)
"""True of every strace log."""


@dataclass
class Notes:
    """Counts of one log."""

    lines: int = 0
    calls: int = 0
    """Lines with a system call."""
    device_calls: int = 0
    unresolved: int = 0
    """Of the device calls those whose descriptor was opened before the log begins."""
    strange: int = 0
    """Lines that are no line of strace."""
    clock: str = ""
    libraries: dict[str, str] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    """Requests of ioctls."""

    @property
    def layouts(self) -> set[int]:
        """Sizes of RM_ALLOC: they tell how old the library is."""
        return {ioc.split(number).size for number in self.numbers if number & 0xFFFF == 0x4600 | RM_ALLOC}

    def odd(self, line: str) -> None:
        """A line that is no call and no mark of strace."""
        if line.strip() and not line.lstrip().startswith((">", "strace:", "Process ")):
            self.strange += 1

    def opened(self, args: str, path: str | None) -> None:
        """A file was opened: a library's name has its version."""
        found = _LIBRARY.search(path or "") or _LIBRARY.search(args)
        if found and len(self.libraries) < 64:
            self.libraries[found[1]] = found[2]

    def said(self) -> list[str]:
        """One line each, for a person."""
        words = [f"{self.lines} lines, {self.calls} calls, {self.device_calls} of them on devices"]
        if self.libraries:
            words.append("libraries: " + ", ".join(f"{name} {v}" for name, v in self.libraries.items()))
        elif 0x28 in self.layouts:
            words.append("the library is of driver 530 or older: its RM_ALLOC has 40 bytes")
        elif 0x30 in self.layouts:
            words.append("the library is of driver 535 or newer: its RM_ALLOC has 48 bytes")
        if self.unresolved:
            words.append(
                f"{self.unresolved} calls on descriptors that were opened before the log begins: named with "
                '"?" by their number alone; strace -y would tell'
            )
        if self.device_calls and not self.clock:
            words.append("no times in this log: calls are in order, a line apart; strace -f -ttt -T has them")
        if self.strange:
            words.append(f"{self.strange} lines are none of strace's; they are left out")
        if self.device_calls:
            words += [f"not in a strace log: {one.name}: {one.why}; {one.remedy}" for one in ALWAYS]
        return words
