"""ioctls of a log: by far the most of its lines, so the same texts are understood once. Pure."""

from glassstack.decoders import registry
from glassstack.decoders.nvidia import frontend, uvm
from glassstack.decoders.strace.call import FD, WORD, node
from glassstack.decoders.strace.requests import number_of
from glassstack.decoders.strace.tasks import Task
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar, Source

_FILE = Source.FILE
_KEPT = 8192
_UNKNOWN = "missing: opened before the log begins"


class Ioctls:
    """The ioctls of a log. By far the most lines are these, and the same texts come again and again."""

    def __init__(self) -> None:
        self._heads: dict[str, tuple[int, str | None, int | None, str]] = {}
        self._names: dict[tuple[str, int], str] = {}
        self.numbers: set[int] = set()
        """Requests that were seen."""
        self.unresolved = 0
        """Events of descriptors that were opened before the log begins."""

    def _head(self, text: str) -> tuple[int, str | None, int | None, str]:
        """Descriptor, node that the text tells, number of the request, its text."""
        found = FD.match(text)
        fd, path, request = (int(found[1]), found[2], text[found.end() :]) if found else (-1, None, text)
        if len(self._heads) >= _KEPT:
            self._heads.clear()
        number = number_of(request)
        if number is not None and len(self.numbers) < _KEPT:
            self.numbers.add(number)
        known = self._heads[text] = (fd, node(path), number, request)
        return known

    def _name(self, device: str, number: int) -> str:
        if len(self._names) >= _KEPT:
            self._names.clear()
        known = self._names[device, number] = registry.name_ioctl(device, number)
        return known

    def event(
        self, task: Task, args: str, ret: int, failed: str | None, ts: int, took: int | None
    ) -> Syscall | None:
        """An ioctl on a device; also one whose descriptor was never seen but whose number is NVIDIA's."""
        head, _, argument = args.rpartition(", ")
        if argument[:2] != "0x" and (cut := args.find(", {")) > 0:
            # strace took a structure of another driver's apart.
            head, argument = args[:cut], ""
        return self.told(task, head, argument, ret, failed, ts, took)

    def told(
        self,
        task: Task,
        head: str,
        argument: str,
        ret: int,
        failed: str | None,
        ts: int,
        took: int | None,
    ) -> Syscall | None:
        """The same, with the last argument apart from the rest."""
        fd, device, number, text = self._heads.get(head) or self._head(head)
        if device is None:
            device = task.files.nodes.get(fd)
        if device == "":
            return None
        try:
            fields: dict[str, Scalar] = {"arg": 0 if argument == "NULL" else int(argument, 0) & WORD}
        except ValueError:
            fields = {}
        if device is None:
            guessed = _unresolved(task, fd, number, fields, (ret, failed, ts, took))
            self.unresolved += guessed is not None
            return guessed
        if number is None:
            name = text
        else:
            name = self._names.get((device, number)) or self._name(device, number)
            if name[:6] == "ioctl ":
                fields["unknown"] = _unknown(device, number)
        return Syscall(
            ts, _FILE, task.pid, task.tid, "ioctl", device, name, fields, ret, failed, took, fd, number
        )


def _unknown(device: str, number: int) -> str:
    if device.startswith("/dev/nvidia-uvm"):
        return f"uvm {number}"
    return f"escape 0x{number & 0xFF:02x} type 0x{number >> 8 & 0xFF:02x}"


def _unresolved(
    task: Task,
    fd: int,
    number: int | None,
    fields: dict[str, Scalar],
    end: tuple[int, str | None, int, int | None],
) -> Syscall | None:
    if number is None:
        return None
    name = frontend.name_of(number)
    if number >> 30 != 3 or name.startswith("ioctl ") or name.endswith("?"):
        # Of UVM's numbers only two are like no other driver's.
        if number >> 4 != 0x3000000:
            return None
        name = uvm.name_of(number)
    ret, failed, ts, took = end
    fields["device"] = _UNKNOWN
    return Syscall(
        ts, _FILE, task.pid, task.tid, "ioctl", "", f"{name}?", fields, ret, failed, took, fd, number
    )
