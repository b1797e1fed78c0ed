"""`-e`: which calls are shown. Pure; knows names, not where events come from."""

from collections.abc import Callable, Sequence

from glassstack.cli.errors import USAGE, CommandError
from glassstack.decoders.fakegpu import BY_NAME
from glassstack.decoders.nvidia import frontend, uvm
from glassstack.decoders.syscalls import NUMBERS
from glassstack.model.events import Syscall

Filter = Callable[[Syscall], bool]

_SYSCALLS = frozenset(name for calls in NUMBERS.values() for name in calls)
_NVIDIA = frozenset((*frontend.NAMES.values(), *uvm.NAMES.values()))


def _known(word: str) -> bool:
    upper = word.upper().removeprefix("NV_ESC_")
    return word.lower() in _SYSCALLS or upper in BY_NAME or upper in _NVIDIA or _number(word) is not None


def _number(word: str) -> int | None:
    try:
        return int(word, 16) if word.lower().startswith("0x") else None
    except ValueError:
        return None


def _names(text: str) -> Filter:
    """Calls by syscall, by decoded name or by ioctl number; case does not matter."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not _known(word):
            raise CommandError(
                f"-e: no call is named {word!r}",
                f"syscalls such as ioctl, mmap, close; ioctls {', '.join(BY_NAME)}, RM_ALLOC, UVM_…, or 0x…",
                USAGE,
            )
    names = frozenset(word.lower().removeprefix("nv_esc_") for word in words)
    numbers = frozenset(number for word in words if (number := _number(word)) is not None)
    return lambda call: call.syscall in names or call.name.lower() in names or call.raw in numbers


def _one(expression: str) -> tuple[Filter | None, bool]:
    """The filter of one -e, and whether it asks for calls on any file."""
    if expression == "errno":
        return (lambda call: call.failure is not None), False
    strace, _, text = expression.partition("=")
    any_file = strace == "trace" and bool(text)
    text = text if any_file else expression
    negated = text.startswith("!")
    text = text.removeprefix("!")
    if text == "all":
        if negated:
            return (lambda call: False), False
        return None, True
    if not text.strip(","):
        raise CommandError(f"-e: {expression!r} names nothing", "for example: -e ioctl,mmap", USAGE)
    matches = _names(text)
    if negated:
        return (lambda call: not matches(call)), False
    return matches, any_file


def parse(expressions: Sequence[str]) -> tuple[Filter, bool]:
    """All the -e together (each must let a call pass), and whether calls on any file are asked for.

    Raises:
        CommandError: a name that no call has.
    """
    parsed = [_one(expression) for expression in expressions]
    filters = [matches for matches, _ in parsed if matches is not None]
    wide = any(any_file for _, any_file in parsed)
    if len(filters) == 1:
        return filters[0], wide
    return (lambda call: all(matches(call) for matches in filters)), wide
