"""Helpers shared by the tests: waiting for a condition, and finding the checkout.

Owns nothing but small functions. Imported as ``from tests.support import eventually``
(pytest puts the checkout on sys.path); the fixtures are in ``conftest.py``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Root of the checkout under test.
ROOT = Path(__file__).resolve().parent.parent

_never = threading.Event()


def eventually(condition: Callable[[], T], timeout: float = 10.0, *, every: float = 0.01) -> T:
    """Poll ``condition`` until it is true and return what it gave.

    ``timeout`` and ``every`` are in seconds. Raises AssertionError when the time
    is up, with the last value and the condition's name, or with the exception
    the last try ended in: an AssertionError inside means "not yet".
    """
    deadline = time.monotonic() + timeout
    while True:
        failure: AssertionError | None = None
        value: T | None = None
        try:
            value = condition()
            if value:
                return value
        except AssertionError as error:
            failure = error
        if time.monotonic() >= deadline:
            name = getattr(condition, "__qualname__", repr(condition))
            raise AssertionError(f"{name}: not true after {timeout:g} s, last: {value!r}") from failure
        _never.wait(every)
