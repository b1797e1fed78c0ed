"""What the reader must do with records before they go on: name devices, keep mappings, tell of lives.

Owns the loader's side of the kernel's tables. The kernel decides which calls
are on devices by itself; it asks only for what it can't know: the name of a
device that is none of ours, a descriptor that came from elsewhere, and whose
mapping an munmap takes away.
"""

import contextlib
import ctypes
import os
import time
from typing import Any

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.proc import closes_on_exec, descriptors, is_process, lives
from glassstack.collectors.bpf.records import RECORD, STRIDE, WIDE, Block, Item
from glassstack.collectors.tracer.nodes import node_of
from glassstack.collectors.tracer.tracees import Process, command_line, kin
from glassstack.decoders.syscalls import OPENS, as_int
from glassstack.model.events import Process as ProcessEvent
from glassstack.model.values import Source

_LOOK_BYTE = records.WORD + 3
_DEVICE_BYTE = records.WORD + 2
_NO_CALL = 0xFFFF

Place = tuple[int, int]


class Watch:
    """Follows processes through their records.

    Args:
        tables: the BPF object of calls.bpf.c.
        any_node: every node of /dev is a device.
        launched: the process that is held and will run the program, 0 for none.
    """

    def __init__(self, tables: Any, any_node: bool, launched: int = 0) -> None:
        self._files = tables["files"]
        self._given = tables["given"]
        self._targets = tables["targets"]
        self._any_node = any_node
        self._launched = launched
        self._ids = {node: number for number, node in records.NODES.items()}
        self._named: dict[Place, int] = {}
        self.new_nodes: dict[int, str] = {}
        """Names given since they were last taken."""
        self.processes: dict[int, Process] = {}
        """Those that live, as far as it was told."""

    # --- before and beside the records ------------------------------------

    def adopt(self, pid: int) -> ProcessEvent | None:
        """Takes in what a running process has open and mapped; ``None`` when it is gone or has nothing."""
        leaf = self._files.Leaf()
        found = False
        for fd, node in descriptors(pid, self._any_node):
            leaf.fd[fd] = self._id_of(node) | (records.CLOEXEC if closes_on_exec(pid, fd) else 0)
            found = True
        process = self.processes.get(pid) or Process(pid, False, self._any_node)
        if process.mapped(pid, 0, 1 << 63):
            leaf.mapped, found = 1, True
        if found:
            self._files[ctypes.c_uint32(pid)] = leaf
        return self._joined(pid, process) if found else None

    def join(self, pid: int) -> ProcessEvent:
        """A process to be watched, whatever it has open."""
        return self._joined(pid, self.processes.get(pid) or Process(pid, False, self._any_node))

    def expect(self, pid: int) -> None:
        """The launched process: it starts with its exec."""
        process = self.processes[pid] = Process(pid, True, self._any_node)
        process.ranges = []

    def _joined(self, pid: int, process: Process) -> ProcessEvent:
        self.processes[pid] = process
        relations = kin(pid)
        parent = relations.parent if relations else 0
        return _say(pid, pid, "start", time.monotonic_ns(), parent, command_line(pid))

    def _id_of(self, node: str) -> int:
        number = self._ids.get(node)
        if number is None:
            number = records.NAMED + len(self._ids) - len(records.NODES)
            if number >= records.ASK:
                return records.UNKNOWN  # more kinds of nodes than there are numbers: shown without a name
            self._ids[node] = number
            self.new_nodes[number] = node
        return number

    def answer(self, asked: Any) -> None:
        """Names the descriptors that the kernel asks for where calls are only counted."""
        for place in list(asked.keys()):
            self._found(place.pid, place.fd)
            del asked[place]

    # --- records ----------------------------------------------------------

    def take(self, block: bytearray) -> list[Item]:
        """What goes on the wire for a block, in order."""
        if bytes(memoryview(block)[_LOOK_BYTE::STRIDE]).isascii():
            return self._blocks(block, 0, len(block))
        items: list[Item] = []
        begun = 0
        for index, record in enumerate(RECORD.iter_unpack(bytes(block))):
            if not record[0] or not record[8] & records.LOOK:
                continue
            at = index * STRIDE
            event = self._look(block, at, record)
            if event is not None:
                items += self._blocks(block, begun, at)
                items.append(event)
                begun = at
        return [*items, *self._blocks(block, begun, len(block))]

    def _blocks(self, block: bytearray, start: int, end: int) -> list[Item]:
        if start == end:
            return []
        nodes, self.new_nodes = self.new_nodes, {}
        return [Block(bytes(memoryview(block)[start:end]), nodes)]

    def _look(self, block: bytearray, at: int, record: tuple[Any, ...]) -> ProcessEvent | None:
        """Completes one record in place, or tells of the life it stands for."""
        left, pid, tid, word, fd = record[3], record[6], record[7], record[8], record[9]
        number, device = word & 0xFFFF, word >> 16 & 0x7F
        if number == records.BIRTH:
            return self._born(pid, tid, fd, left)
        if number == records.EXEC:
            return self._executed(pid, left)
        if number == records.EXIT:
            return self._ended(pid, tid, left)
        name = records.name_of(number)
        if name == "mmap":
            fd = as_int(records.ARGUMENTS.unpack_from(record[15])[4])
        start = self.join(pid) if pid not in self.processes else None
        if word & WIDE and name in OPENS:
            device = self._opened(block, at, record)
        elif device == records.UNKNOWN:
            device = self._found(pid, fd)
        elif device == records.ASK:
            device = self._asked(pid, fd)
            if name in ("dup", "dup2", "dup3", "fcntl"):
                self._named[pid, record[4]] = device
        if name in ("mmap", "munmap"):
            device = self._mapping(name, pid, device, record)
        if device == records.NOT:
            block[at + records.WORD : at + records.WORD + 2] = _NO_CALL.to_bytes(2, "little")
        else:
            block[at + _DEVICE_BYTE] = device
        return start

    def _opened(self, block: bytearray, at: int, record: tuple[Any, ...]) -> int:
        pid, ret, size, device = record[6], record[4], record[11], record[8] >> 16 & 0x7F
        if device != records.ASK:
            return int(device)
        path = records.wide(block, at)[0][: max(0, size - 1)].decode("utf-8", "surrogateescape")
        node = node_of(path, self._any_node)
        device = self._id_of(node) if node else records.NOT
        if ret >= 0:
            self._named[pid, ret] = device
            self._give(pid, ret, device)
        return device

    def _give(self, pid: int, fd: int, device: int) -> None:
        if device != records.UNKNOWN:
            key = self._given.Key(pid, fd)
            self._given[key] = ctypes.c_uint32(device)

    def _found(self, pid: int, fd: int) -> int:
        """A descriptor that nobody was seen to open: another process gave it, or it has an odd path."""
        try:
            node = node_of(os.readlink(f"/proc/{pid}/fd/{fd}"), self._any_node)
        except OSError:
            return records.UNKNOWN
        device = self._id_of(node) if node else records.NOT
        self._give(pid, fd, device)
        return device

    def _asked(self, pid: int, fd: int) -> int:
        known = self._named.get((pid, fd))
        if known is None:
            return self._found(pid, fd)
        self._give(pid, fd, known)
        return known

    def _mapping(self, name: str, pid: int, device: int, record: tuple[Any, ...]) -> int:
        args = records.ARGUMENTS.unpack_from(record[15])
        process, ret = self.processes[pid], record[4]
        if name == "mmap":
            node = records.NODES.get(device) or next(
                (node for node, number in self._ids.items() if number == device), ""
            )
            if ret > 0 and node:
                process.add_range(ret, ret + (args[1] + 4095) // 4096 * 4096, node)
            return device
        node = process.mapped(pid, args[0], args[0] + args[1])
        if node and ret == 0:
            process.remove_range(args[0], args[0] + (args[1] + 4095) // 4096 * 4096)
        return self._id_of(node) if node else records.NOT

    # --- lives ------------------------------------------------------------

    def _born(self, pid: int, tid: int, parent: int, now: int) -> ProcessEvent:
        if pid != tid:
            return _say(pid, tid, "thread", now)
        origin = self.processes.get(parent)
        process = self.processes[pid] = Process(pid, False, self._any_node)
        if origin is not None and origin.ranges is not None:
            process.ranges = list(origin.ranges)
        for (owner, fd), device in list(self._named.items()):
            if owner == parent:
                self._named[pid, fd] = device
        if not parent:
            relations = kin(pid)
            parent = relations.parent if relations else 0
        return _say(pid, pid, "fork", now, parent)

    def _executed(self, pid: int, now: int) -> ProcessEvent:
        process = self.processes.setdefault(pid, Process(pid, False, self._any_node))
        process.executed()
        what = "exec"
        parent = 0
        if pid == self._launched:
            self._launched = 0
            relations = kin(pid)
            what, parent = "start", relations.parent if relations else 0
        return _say(pid, pid, what, now, parent, command_line(pid))

    def _ended(self, pid: int, tid: int, now: int) -> ProcessEvent | None:
        if pid != tid:
            return _say(pid, tid, "exit", now)
        if lives(pid):
            # Only its first thread has ended, or it is just about to: sweep() tells.
            return None
        return self._gone(pid, now)

    def _gone(self, pid: int, now: int) -> ProcessEvent:
        self.processes.pop(pid, None)
        for place in [place for place in self._named if place[0] == pid]:
            del self._named[place]
        for table in (self._files, self._targets):
            with contextlib.suppress(KeyError):
                del table[ctypes.c_uint32(pid)]
        return _say(pid, pid, "exit", now)

    def sweep(self) -> list[ProcessEvent]:
        """Clears the tables of who has ended, whether it was told or not, and learns who is new in them."""
        now = time.monotonic_ns()
        keys = {key.value for table in (self._targets, self._files) for key in table}
        ends = []
        for pid in keys | self.processes.keys():
            known = pid in self.processes
            if not lives(pid):
                end = self._gone(pid, now)
                ends += [end] if known else []
            elif not known and is_process(pid):
                self.processes[pid] = Process(pid, False, self._any_node)
        return ends


def _say(pid: int, tid: int, what: str, now: int, parent: int = 0, command: str = "") -> ProcessEvent:
    return ProcessEvent(now, Source.EBPF, pid, tid, what, parent, command)
