"""What a row is."""

import re
from functools import cached_property


class Pattern:
    """``word``: in lower case, must be in the line before ``form`` is tried (searched, not anchored).

    The expression is compiled when it is first needed: a typical paste needs a tenth of them.
    """

    def __init__(self, kind: str, word: str, expression: str) -> None:
        self.kind, self.word, self.expression = kind, word, expression

    @cached_property
    def form(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.expression)


def rows(*given: tuple[str, str, str]) -> tuple[Pattern, ...]:
    """Rows of (kind, word, expression)."""
    return tuple(Pattern(*one) for one in given)


VERSION = r"\d{2,4}(?:\.\d+){1,3}"
DEVICE = r"/dev/(?:nvidia|fakegpu)[\w./-]*"
