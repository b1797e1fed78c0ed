"""The bounded log of calls: the newest ``capacity`` ones, numbered from the first ever seen."""

from collections.abc import Iterator

from glassstack.model.events import Syscall


class CallLog:
    """A ring of calls addressed by absolute number.

    One thread appends, any thread may read: a number that was overwritten
    reads as ``None``.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self.capacity = capacity
        self.end = 0
        """Number that the next call will get; also how many were ever seen."""
        self._slots: list[Syscall | None] = [None] * capacity

    @property
    def first(self) -> int:
        """Number of the oldest call still held."""
        return max(0, self.end - self.capacity)

    def append(self, call: Syscall) -> None:
        """Adds the newest call, dropping the oldest when full."""
        self._slots[self.end % self.capacity] = call
        self.end += 1

    def get(self, number: int) -> Syscall | None:
        """The call with that number, or ``None`` when it is gone or not there yet."""
        if not self.first <= number < self.end:
            return None
        return self._slots[number % self.capacity]

    def since(self, number: int) -> Iterator[tuple[int, Syscall]]:
        """Number and call, from ``number`` (or the oldest held) to the newest."""
        for n in range(max(number, self.first), self.end):
            call = self.get(n)
            if call is not None:
                yield n, call

    def copy(self) -> "CallLog":
        """An independent log with the same content."""
        other = CallLog(self.capacity)
        other.end = self.end
        other._slots = self._slots.copy()
        return other
