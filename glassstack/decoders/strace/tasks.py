"""Who has which descriptor: tables that fork, clone and exec share, copy and empty. Pure."""

from dataclasses import dataclass, field

CLONE_VM, CLONE_FILES, CLONE_THREAD = 0x100, 0x400, 0x10000
_FLAGS = {"CLONE_VM": CLONE_VM, "CLONE_FILES": CLONE_FILES, "CLONE_THREAD": CLONE_THREAD}
_RANGES, _DESCRIPTORS = 4096, 65_536


@dataclass
class Files:
    """A descriptor table: node of each descriptor, "" for what is no device. A missing one was not seen."""

    nodes: dict[int, str] = field(default_factory=dict)
    cloexec: set[int] = field(default_factory=set)

    def copy(self) -> "Files":
        """What a fork gives the child."""
        return Files(self.nodes.copy(), self.cloexec.copy())

    def put(self, fd: int, node: str, cloexec: bool = False) -> None:
        """A descriptor was made."""
        if len(self.nodes) >= _DESCRIPTORS:
            self.nodes.clear()
            self.cloexec.clear()
        self.nodes[fd] = node
        self.cloexec.discard(fd)
        if cloexec:
            self.cloexec.add(fd)

    def seen(self, fd: int, node: str) -> None:
        """A line told what a descriptor is."""
        if fd in self.nodes or len(self.nodes) < _DESCRIPTORS:
            self.nodes[fd] = node

    def drop(self, fd: int) -> None:
        """A descriptor went away, or nobody knows any more what it is."""
        self.nodes.pop(fd, None)
        self.cloexec.discard(fd)

    def executed(self) -> None:
        """exec closes what was marked."""
        for fd in self.cloexec:
            self.nodes.pop(fd, None)
        self.cloexec.clear()


@dataclass
class Memory:
    """The device mappings of an address space: start, end, node."""

    ranges: list[tuple[int, int, str]] = field(default_factory=list)

    def copy(self) -> "Memory":
        """What a fork gives the child."""
        return Memory(self.ranges.copy())

    def add(self, start: int, length: int, node: str) -> None:
        """A device was mapped."""
        self.remove(start, length)
        if len(self.ranges) < _RANGES:
            self.ranges.append((start, start + _pages(length), node))

    def remove(self, start: int, length: int) -> None:
        """A range was unmapped, or mapped anew."""
        if not self.ranges:
            return
        end = start + _pages(length)
        left: list[tuple[int, int, str]] = []
        for low, high, node in self.ranges:
            left += [(a, b, node) for a, b in ((low, min(high, start)), (max(low, end), high)) if a < b]
        self.ranges = left

    def node(self, start: int, length: int) -> str:
        """The device that has a mapping in a range, "" for none."""
        end = start + length
        return next((node for low, high, node in self.ranges if low < end and start < high), "")


def _pages(length: int) -> int:
    return (length + 4095) // 4096 * 4096


@dataclass
class Task:
    """A thread. ``pid`` is its process, as far as the log tells."""

    tid: int
    pid: int
    files: Files = field(default_factory=Files)
    memory: Memory = field(default_factory=Memory)

    def child(self, tid: int, flags: int) -> "Task":
        """What clone(2) with these flags makes."""
        return Task(
            tid,
            self.pid if flags & CLONE_THREAD else tid,
            self.files if flags & CLONE_FILES else self.files.copy(),
            self.memory if flags & CLONE_THREAD else self.memory.copy(),
        )

    def executed(self) -> None:
        """It runs another program: nobody shares its tables any more."""
        self.files = self.files.copy()
        self.files.executed()
        self.memory = Memory()


def clone_flags(args: str) -> int:
    """The flags of clone or clone3 that matter here, of their names or their number."""
    flags = sum(bit for name, bit in _FLAGS.items() if name in args)
    if flags:
        return flags
    _, _, rest = args.partition("flags=")
    for word in rest.split(",", 1)[0].split("|"):
        try:
            flags |= int(word.split(" ")[0].strip(), 0)
        except ValueError:
            continue
    return flags & (CLONE_VM | CLONE_FILES | CLONE_THREAD)
