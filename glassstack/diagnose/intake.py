"""Opens whatever was given: plain text, gzip (also half of one), tar, stdin; bytes come out in order.

Owns unpacking and its limits. Knows nothing of lines; what it had to do is in ``notes``.
"""

import codecs
import sys
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple, Protocol

CHUNK = 1 << 18
UNPACKED_MAX = 16 << 30
"""Bytes unpacked of one file before it is taken for a bomb."""
DEPTH_MAX = 3
_GZIP, _BOMS = b"\x1f\x8b", {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class Stream(Protocol):
    """What can be read to its end."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, b"" at the end."""


class Piece(NamedTuple):
    """One text: its name for people, its bytes."""

    name: str
    stream: Stream


class Peeked:
    """A stream whose first bytes were looked at."""

    def __init__(self, stream: Stream, size: int = 512) -> None:
        self._stream = stream
        self.head = b""
        while len(self.head) < size:
            more = stream.read(size - len(self.head))
            if not more:
                break
            self.head += more
        self._rest = self.head

    def read(self, size: int, /) -> bytes:
        """The looked-at bytes first."""
        if self._rest:
            part, self._rest = self._rest[:size], self._rest[size:]
            return part
        return self._stream.read(size)


class Gunzip:
    """Unpacks gzip as it comes; what is broken or missing ends it, said in ``notes``."""

    def __init__(self, name: str, stream: Stream, notes: list[str]) -> None:
        self._name, self._stream, self._notes = name, stream, notes
        self._engine = zlib.decompressobj(31)
        self._input = b""
        self._given = 0
        self._over = False

    def read(self, size: int, /) -> bytes:
        """At most ``size`` unpacked bytes."""
        while not self._over:
            try:
                part = self._step(size)
            except zlib.error:
                self._end("damaged gzip: read up to the damage")
                break
            if part:
                self._given += len(part)
                if self._given > UNPACKED_MAX:
                    self._end(f"unpacks to more than {UNPACKED_MAX >> 30} GiB: the rest was not read")
                return part
        return b""

    def _step(self, size: int) -> bytes:
        if self._engine.eof:
            self._input = self._engine.unused_data or self._stream.read(CHUNK)
            if not self._input.startswith(_GZIP):
                self._over = True
                return b""
            self._engine = zlib.decompressobj(31)
        if not self._input:
            self._input = self._stream.read(CHUNK)
            if not self._input:
                part = self._engine.flush()
                self._end("the gzip is cut off: what is there was read")
                return part
        part = self._engine.decompress(self._input, size)
        self._input = self._engine.unconsumed_tail
        return part

    def _end(self, why: str) -> None:
        self._over = True
        self._notes.append(f"{self._name}: {why}")


class Utf16:
    """UTF-16, as some Windows tools save it, as UTF-8."""

    def __init__(self, stream: Stream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int, /) -> bytes:
        """Converts at most ``size`` bytes of the original."""
        while data := self._stream.read(size):
            text = self._decoder.decode(data)
            if text:
                return text.encode("utf-8", "replace")
        return b""


def pieces(names: Sequence[str], notes: list[str]) -> Iterator[Piece]:
    """Every text in the named files; "-" is stdin. What can't be read is said in ``notes``."""
    for name in names:
        try:
            if name == "-":
                yield from _open("stdin", sys.stdin.buffer, notes, 0)
            else:
                with open(name, "rb", buffering=0) as file:
                    yield from _open(name, file, notes, 0)
        except OSError as error:
            notes.append(f"{name}: not read: {error.strerror or error}")


def _open(name: str, stream: Stream, notes: list[str], depth: int) -> Iterator[Piece]:
    peeked = Peeked(stream)
    if not peeked.head:
        notes.append(f"{name}: empty")
    elif depth < DEPTH_MAX and peeked.head.startswith(_GZIP):
        yield from _open(name.removesuffix(".gz"), Gunzip(name, peeked, notes), notes, depth + 1)
    elif depth < DEPTH_MAX and peeked.head[257:262] == b"ustar":
        yield from _members(name, peeked, notes, depth)
    elif peeked.head[:2] in _BOMS:
        notes.append(f"{name}: UTF-16, converted")
        yield Piece(name, Utf16(peeked, _BOMS[peeked.head[:2]]))
    else:
        yield Piece(name, peeked)


def _members(name: str, stream: Stream, notes: list[str], depth: int) -> Iterator[Piece]:
    try:
        with tarfile.open(fileobj=_as_file(stream), mode="r|") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield from _open(f"{name}!{member.name}", content, notes, depth + 1)
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        notes.append(f"{name}: the tar is damaged or cut off ({error}): read up to there")


def _as_file(stream: Stream) -> IO[bytes]:
    return stream  # type: ignore[return-value]
