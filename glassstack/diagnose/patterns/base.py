"""What a row is."""

import re
from typing import NamedTuple


class Pattern(NamedTuple):
    """``word``: in lower case, must be in the line before ``form`` is tried (searched, not anchored)."""

    kind: str
    word: str
    form: re.Pattern[str]


def rows(*given: tuple[str, str, str]) -> tuple[Pattern, ...]:
    """Rows of (kind, word, expression)."""
    return tuple(Pattern(kind, word, re.compile(form)) for kind, word, form in given)


VERSION = r"\d{2,4}(?:\.\d+){1,3}"
DEVICE = r"/dev/(?:nvidia|fakegpu)[\w./-]*"
