"""Batches over a pipe: a 32-bit little-endian length, then the batch as msgpack.

Owns the framing and nothing else. The writer waits for a slow reader (a trace
loses nothing) but can always be told to stop waiting.
"""

import contextlib
import fcntl
import os
import select
import struct
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from glassstack.model.codec import encode_batch

T = TypeVar("T")

_LENGTH = struct.Struct("<I")
_PIPE_SIZE = 1 << 20
_MAX_FRAME = 1 << 28
_F_SETPIPE_SZ = 1031
_PATIENCE_MS = 50


class WireError(Exception):
    """What came over the wire is not a batch."""


class WireWriter(Generic[T]):
    """The sending end.

    Args:
        fd: a pipe's writing end; it becomes non-blocking and is owned from now on.
        give_up: asked while waiting for the reader; true ends the wait.
        encode: makes bytes of a batch.
    """

    def __init__(
        self,
        fd: int,
        give_up: Callable[[], bool] = lambda: False,
        encode: Callable[[Sequence[T]], bytes] = encode_batch,
    ) -> None:
        self._fd = fd
        self._encode = encode
        self._give_up = give_up
        self.broken = False
        """The reader is gone; everything written from now on is dropped."""
        os.set_blocking(fd, False)
        os.set_inheritable(fd, False)
        with contextlib.suppress(OSError):
            # Over this user's pipe quota: the default size is only slower.
            fcntl.fcntl(fd, _F_SETPIPE_SZ, _PIPE_SIZE)
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def write(self, batch: Sequence[T]) -> None:
        """Sends a batch, waiting for the reader to make room. Never raises for a lost reader."""
        if self.broken or not batch:
            return
        payload = self._encode(batch)
        frame = memoryview(_LENGTH.pack(len(payload)) + payload)
        while frame:
            try:
                frame = frame[os.write(self._fd, frame) :]
            except BlockingIOError:
                if not self._poll.poll(_PATIENCE_MS) and self._give_up():
                    self.broken = True
                    return
            except OSError:
                self.broken = True
                return

    def check(self) -> bool:
        """Whether the reader is still there."""
        if not self.broken and any(event & select.POLLERR for _, event in self._poll.poll(0)):
            self.broken = True
        return not self.broken

    def close(self) -> None:
        """Tells the reader that this was all. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self.broken = True


class WireReader(Generic[T]):
    """The receiving end.

    Args:
        fd: a pipe's reading end, owned from now on.
        decode: makes a batch of bytes; msgspec.DecodeError when it can't.
    """

    def __init__(self, fd: int, decode: Callable[[bytes], list[T]]) -> None:
        self._fd = fd
        self._decode = decode
        self._buffer = bytearray()
        os.set_blocking(fd, False)
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self._fd

    def read(self, timeout: float) -> list[T] | None:
        """Everything that has come, after at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` the end.

        Raises:
            WireError: the writer sent something else.
        """
        if self._fd < 0:
            return None
        if not self._poll.poll(max(0, int(timeout * 1000))):
            return []
        try:
            data = os.read(self._fd, _PIPE_SIZE)
        except BlockingIOError:
            return []
        if not data:
            self.close()
            return None
        self._buffer += data
        return self._frames()

    def _frames(self) -> list[T]:
        events: list[T] = []
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            if length > _MAX_FRAME:
                raise WireError(f"a frame of {length} bytes")
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            try:
                events += self._decode(bytes(self._buffer[start + _LENGTH.size : end]))
            except msgspec.DecodeError as error:
                raise WireError(str(error)) from error
            start = end
        del self._buffer[:start]
        return events

    def close(self) -> None:
        """Lets go of the pipe; the writer notices. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
