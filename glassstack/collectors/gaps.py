"""Numbers that should come one after the other: how many never came. Pure."""


class Gaps:
    """Counts what is missing in a run of sequence numbers.

    Args:
        late: how many later numbers a missing one may let pass before it counts
            as lost; 0 where numbers come in order.
    """

    def __init__(self, late: int = 0) -> None:
        self._late = late
        self._next: int | None = None
        self._ahead: set[int] = set()

    def lost(self, number: int) -> int:
        """Takes in a number; how many are now known to be lost. One seen before changes nothing."""
        if self._next is None:
            self._next = number
        if number < self._next:
            return 0
        self._ahead.add(number)
        self._advance()
        lost = 0
        while len(self._ahead) > self._late:
            first = min(self._ahead)
            lost += first - self._next
            self._next = first
            self._advance()
        return lost

    def _advance(self) -> None:
        assert self._next is not None
        while self._next in self._ahead:
            self._ahead.remove(self._next)
            self._next += 1
