"""From the witness ring's records to events. Owns what must be kept between them: whose a context is."""

from collections.abc import Callable

from glassstack.decoders import kmsg
from glassstack.decoders import witness as abi
from glassstack.decoders.registry import decode_ioctl
from glassstack.decoders.syscalls import OPENS, as_int, errno_name, path_fields, syscall_name
from glassstack.model.entities import Channel
from glassstack.model.events import Channels, Event, Log, Syscall
from glassstack.model.values import Source

_RECORD = abi.RECORD.unpack_from
_RECORD_SIZE = abi.RECORD.size
_CALL = abi.CALL_BODY.unpack_from
_CALL_DATA = _RECORD_SIZE + abi.CALL_BODY.size
_CONTEXT = abi.CONTEXT_BODY.unpack_from
_PROGRESS = abi.PROGRESS_BODY.unpack_from
_LOG = abi.LOG_BODY.unpack_from
_LOG_TEXT = _RECORD_SIZE + abi.LOG_BODY.size

Key = tuple[str, int]
"""Node and context."""


class Records:
    """Parses pieces of the ring; ``machine`` says which syscall numbers they hold."""

    def __init__(self, machine: str) -> None:
        self._names = machine
        self._calls: dict[int, str] = {}
        self._pids: dict[Key, int] = {}
        self._channels: dict[Key, dict[int, Channel]] = {}
        self._moved: dict[int, int] = {}
        """pid → time of the newest progress that was not told yet."""
        self._freed: list[Key] = []
        self._handlers: dict[int, Callable[[bytes, int, int, str, int, list[Event]], None]] = {
            abi.CALL: self._call,
            abi.CONTEXT: self._context,
            abi.PROGRESS: self._progress,
            abi.LOG: self._log,
        }

    def parse(self, piece: bytes, max_records: int, events: list[Event]) -> tuple[int, int]:
        """Takes whole records from the start of ``piece``; gives how many, and their bytes.

        A record that can't be one ends it: with nothing before it, 0 bytes are taken.
        """
        at, taken, end = 0, 0, len(piece)
        handlers = self._handlers
        while taken < max_records and end - at >= 8:
            size = int.from_bytes(piece[at : at + 4], "little")
            if size < 8 or size % 8 or at + size > end:
                break
            kind = piece[at + 4] | piece[at + 5] << 8
            if kind != abi.PAD:
                if size < _RECORD_SIZE:
                    break
                _, _, device, ts = _RECORD(piece, at)
                handler = handlers.get(kind)
                if handler is not None:  # a newer device may tell of more
                    handler(piece, at, size, abi.node(device), ts, events)
                taken += 1
            at += size
        return taken, at

    def progress(self) -> list[Event]:
        """The channels of every process in which one moved since the last time."""
        told: list[Event] = []
        for pid, ts in self._moved.items():
            channels = [
                channel
                for key, found in self._channels.items()
                if self._pids.get(key, 0) == pid
                for channel in found.values()
            ]
            told.append(Channels(ts, Source.DEVICE, pid, tuple(channels)))
        self._moved.clear()
        for key in self._freed:
            self._channels.pop(key, None)
            self._pids.pop(key, None)
        self._freed.clear()
        return told

    def _call(self, piece: bytes, at: int, size: int, node: str, ts: int, events: list[Event]) -> None:
        if size < _CALL_DATA:
            return
        (done, pid, tid, nr, _, ret, a0, a1, a2, a3, a4, a5, before_size, after_size, kept, _) = _CALL(
            piece, at + _RECORD_SIZE
        )
        start = at + _CALL_DATA
        before = piece[start : start + before_size]
        name = self._calls.get(nr)
        if name is None:
            name = self._calls[nr] = syscall_name(nr, self._names)
        failed = errno_name(ret) if ret < 0 else None
        if name == "ioctl":
            start += (before_size + 7) & ~7
            after = piece[start : start + after_size]
            start += (after_size + 7) & ~7
            request = a1 & 0xFFFFFFFF
            call, fields = decode_ioctl(node, request, before, after, piece[start : start + kept], ret)
            events.append(
                Syscall(
                    ts,
                    Source.DEVICE,
                    pid,
                    tid,
                    name,
                    node,
                    call,
                    fields,
                    ret,
                    failed,
                    done - ts,
                    as_int(a0),
                    request,
                )
            )
            return
        path = before.rstrip(b"\0").decode("utf-8", "replace")
        fields = path_fields(name, (a0, a1, a2, a3, a4, a5), path)
        call, fd = ("open", ret if ret >= 0 else None) if name in OPENS else (name, None)
        events.append(
            Syscall(ts, Source.DEVICE, pid, tid, name, node, call, fields, ret, failed, done - ts, fd)
        )

    def _context(self, piece: bytes, at: int, size: int, node: str, ts: int, events: list[Event]) -> None:
        if size < _RECORD_SIZE + abi.CONTEXT_BODY.size:
            return
        pid, context, opened, _, _ = _CONTEXT(piece, at + _RECORD_SIZE)
        key = (node, context)
        if opened:
            self._pids[key] = pid
            self._channels.pop(key, None)
            if key in self._freed:
                self._freed.remove(key)
        else:
            self._freed.append(key)

    def _progress(self, piece: bytes, at: int, size: int, node: str, ts: int, events: list[Event]) -> None:
        if size < _RECORD_SIZE + abi.PROGRESS_BODY.size:
            return
        context, index, wptr, rptr, seqno, doorbells, jobs, xid, _ = _PROGRESS(piece, at + _RECORD_SIZE)
        key = (node, context)
        pid = self._pids.get(key, 0)
        channel = Channel(pid, node, context, index, wptr, rptr, seqno, doorbells, jobs, error=xid)
        self._channels.setdefault(key, {})[index] = channel
        self._moved[pid] = ts

    def _log(self, piece: bytes, at: int, size: int, node: str, ts: int, events: list[Event]) -> None:
        if size < _LOG_TEXT:
            return
        level, length = _LOG(piece, at + _RECORD_SIZE)
        text = piece[at + _LOG_TEXT : at + min(_LOG_TEXT + length, size)].decode("utf-8", "replace")
        xid = kmsg.parse_xid(text)
        # The line says which device; the record's own field does not.
        if xid is None:
            events.append(Log(ts, Source.DEVICE, level, text))
        else:
            device = kmsg.fakegpu_node(xid.pci)
            events.append(Log(ts, Source.DEVICE, level, text, xid.xid, xid.pid, device))
