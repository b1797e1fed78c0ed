"""Spaces whose pages can be read though the program has not mapped them: the embedded device's, by its file.

A program that works by SUBMIT alone has no use for the completion ring; the
device writes it all the same.
"""

from glassstack.collectors.spaces import Space, Spaces
from glassstack.model.entities import Mapping


class _Reached(Space):
    """A context whose pages need not be mapped: the embedded device's are in a file of the program."""

    def mapped(self, offset: int) -> Mapping | None:
        """The mapping that has this offset; any, where the file will do."""
        return super().mapped(offset) or (self.mappings[0] if self._file else None)

    def read(self, offset: int, size: int) -> bytes:
        """A range of the space. Raises UnreadableError."""
        if self._file is not None and super().mapped(offset) is None:
            return self._file.read(offset, size)
        return super().read(offset, size)


class Reach(Spaces):
    """Spaces of which the completion ring can be read though only buffers are mapped."""

    def of(self, pid: int) -> list[Space]:
        """The contexts of a process. Raises UnreadableError."""
        return [_Reached(pid, space.mappings, space.context) for space in super().of(pid)]
