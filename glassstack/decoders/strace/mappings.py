"""mmap and munmap of a log, as far as they concern devices. Pure."""

import re

from glassstack.decoders.strace.call import WORD, Call, event, node
from glassstack.decoders.strace.grammar import PATH
from glassstack.decoders.syscalls import map_text, prot_text
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar

_NUMBER = r"0x[0-9a-f]{1,16}|\d{1,18}"
_MMAP = re.compile(rf"(NULL|{_NUMBER}), ({_NUMBER}), ([^,]+), ([^,]+), (-?\d{{1,10}})({PATH})?, ({_NUMBER})")


def mmap(call: Call) -> Syscall | None:
    """A mapping of a device; whatever was there before is gone."""
    found = _MMAP.match(call.args)
    if found is None:
        return None
    address, length, prot, flags, descriptor, path, offset = found.groups()
    fd, size = int(descriptor), int(length, 0)
    device = node(path)
    if device is None:
        device = call.task.files.nodes.get(fd, "")
    if fd < 0 or "ANONYMOUS" in flags:
        device = ""
    if call.errno is None:
        if device:
            call.task.memory.add(call.ret, size, device)
        else:
            call.task.memory.remove(call.ret, size)
    if not device:
        return None
    prot, flags = prot.split(" ")[0], flags.split(" ")[0]
    fields: dict[str, Scalar] = {
        "address": 0 if address == "NULL" else int(address, 0),
        "length": size,
        "prot": prot_text(int(prot, 0)) if prot[0].isdigit() else prot,
        "flags": map_text(int(flags, 0)) if flags[0].isdigit() else flags,
        "offset": int(offset, 0),
    }
    return event(call, device, "mmap", fields, fd)


def munmap(call: Call) -> Syscall | None:
    """An unmapping of a range in which a device is mapped."""
    memory = call.task.memory
    if not memory.ranges:
        return None
    words = call.args.split(", ")
    try:
        start, length = int(words[0], 0) & WORD, int(words[1], 0) & WORD
    except (ValueError, IndexError):
        return None
    device = memory.node(start, length)
    if not device:
        return None
    if call.ret == 0:
        memory.remove(start, length)
    return event(call, device, "munmap", {"address": start, "length": length})
