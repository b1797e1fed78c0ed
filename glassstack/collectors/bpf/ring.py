"""Reads a BPF ring buffer in bulk through its mapped pages, one stride a record.

Every reservation is a whole number of strides, its header at the first; where
a header would be in the others there are zeroes. So one strided look at a
block tells whether all of it is committed.
"""

import mmap
import struct

_PAGE = mmap.PAGESIZE
_LENGTH = struct.Struct("<I")
_BUSY_BYTE = 3
"""The byte of a header whose top bit says that the record is still being written."""


class RingReader:
    """The reading end of a ring buffer.

    Args:
        fd: of the map; stays the caller's.
        size: of its data in bytes, a power of two.
        stride: bytes of a record with its header, a multiple of 8.
    """

    def __init__(self, fd: int, size: int, stride: int) -> None:
        self._size = size
        self._stride = stride
        self._consumer = mmap.mmap(fd, _PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
        self._data = mmap.mmap(fd, _PAGE + 2 * size, mmap.MAP_SHARED, mmap.PROT_READ, offset=_PAGE)
        # Positions are read and written as whole words: struct would take them byte by byte, and the
        # other side would now and then see a half of each.
        self._consumed = memoryview(self._consumer).cast("Q")
        self._produced = memoryview(self._data)[:8].cast("Q")
        self._at: int = self._consumed[0]

    def read(self, most: int) -> bytearray:
        """Whole strides that are committed, at most ``most`` bytes of them; they are free again."""
        length = min(self._produced[0] - self._at, most) // self._stride * self._stride
        if not length:
            return bytearray()
        start = _PAGE + self._at % self._size  # the data is mapped twice: no wrap
        block = bytearray(memoryview(self._data)[start : start + length])
        block = block[: self._committed(block)]
        self._at += len(block)
        self._consumed[0] = self._at
        return block

    def _committed(self, block: bytearray) -> int:
        """Bytes of whole records at the start of ``block``."""
        stride = self._stride
        top = bytes(memoryview(block)[_BUSY_BYTE::stride])
        count = len(top) if top.isascii() else next(n for n, byte in enumerate(top) if byte & 0x80)
        # The last record may go on behind what was read.
        last = count - 1
        while last >= 0:
            (words,) = _LENGTH.unpack_from(block, last * stride)
            if words:
                return (count if last + (words + 8) // stride <= count else last) * stride
            last -= 1
        return 0

    def close(self) -> None:
        """Unmaps it."""
        self._consumed.release()
        self._produced.release()
        self._consumer.close()
        self._data.close()
