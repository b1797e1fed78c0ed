"""What one call means for the next: which mapping a descriptor was prepared for, which handle is what.

Keeps a bounded memory of handles; pure otherwise: calls in, the same calls
with more fields out.
"""

from collections.abc import Iterable

import msgspec

from glassstack.decoders.nvidia.table_classes import KINDS, USERMODE_SIZE
from glassstack.model.events import Event, Syscall
from glassstack.model.values import Scalar

_MOST = 65_536
_HINT = "not known which: the argument of RM_MAP_MEMORY was not seen"


class Objects:
    """The resource manager's objects, as far as calls have told of them."""

    def __init__(self) -> None:
        self._classes: dict[tuple[Scalar, Scalar], str] = {}
        """(client, handle) → class."""
        self._mappings: dict[tuple[int, Scalar], str] = {}
        """(pid, descriptor) → what its next mmap(2) maps."""
        self._blind: set[int] = set()
        """Processes with a prepared mapping of which only that is known."""

    def all(self, events: Iterable[Event]) -> list[Event]:
        """Each event, those of an NVIDIA node with what earlier ones told."""
        return [self.see(event) if isinstance(event, Syscall) else event for event in events]

    def see(self, call: Syscall) -> Syscall:
        """The call with what earlier ones told of it."""
        if not call.device.startswith("/dev/nvidia"):
            if call.name == "RM_MAP_MEMORY?" and call.failure is None:
                self._blind.add(call.pid)
            return call
        if call.syscall == "ioctl":
            return self._ioctl(call)
        if call.syscall == "mmap":
            return self._mmap(call)
        if call.syscall in ("open", "openat", "close") and call.fd is not None:
            self._mappings.pop((call.pid, call.fd), None)
        return call

    def _ioctl(self, call: Syscall) -> Syscall:
        fields = call.fields
        if call.failure is not None:
            return call
        if call.name == "RM_ALLOC" and "class" in fields:
            if len(self._classes) >= _MOST:
                self._classes.clear()
            client = fields.get("hRoot") or fields.get("hNew")
            self._classes[client, fields.get("hNew")] = str(fields["class"])
        elif call.name == "RM_CONTROL" and "hObject" in fields:
            known = self._classes.get((fields.get("hClient"), fields["hObject"]))
            return _with(call, "object", known) if known else call
        elif call.name == "RM_FREE" and "hOld" in fields:
            known = self._classes.pop((fields.get("hRoot"), fields["hOld"]), None)
            return _with(call, "object", known) if known else call
        elif call.name == "RM_MAP_MEMORY":
            return self._prepared(call)
        return call

    def _prepared(self, call: Syscall) -> Syscall:
        fields = call.fields
        if "fd" not in fields or "hMemory" not in fields:
            self._blind.add(call.pid)
            return call
        if len(self._mappings) >= _MOST:
            self._mappings.clear()
        handle = fields["hMemory"]
        known = self._classes.get((fields.get("hClient"), handle), "an object made before")
        text = f"doorbell ({known})" if KINDS.get(known) == "usermode" else known
        self._mappings[call.pid, fields["fd"]] = f"{text} {handle:#x}"
        return _with(call, "object", known)

    def _mmap(self, call: Syscall) -> Syscall:
        if call.errno is not None or call.device.startswith("/dev/nvidia-uvm"):
            return call
        known = self._mappings.pop((call.pid, call.fd), None)
        if known is None and call.pid in self._blind:
            self._blind.discard(call.pid)
            size = call.fields.get("length")
            known = f"{_HINT}; of the size of a doorbell region" if size == USERMODE_SIZE else _HINT
        return _with(call, "maps", known) if known else call


def _with(call: Syscall, name: str, value: str) -> Syscall:
    return msgspec.structs.replace(call, fields={**call.fields, name: value})
