"""How strace writes a line: prefixes, times, results. Pure.

Owns the regular expressions and what makes numbers of their groups; knows no
system call.
"""

import errno
import re
from functools import cache, lru_cache
from typing import NamedTuple

_KIND = r"(?:(\w+)\(|<\.\.\. (\w+) resumed> ?|(\+\+\+ |--- | ?> ))"
LINE = re.compile(
    r"(?:\[pid +(\d{1,10})[^]]*\] +| *(\d{1,10})(?:<[^>]*>)? +)?"  # -f: on a terminal; in a file, maybe -Y
    r" *(\d{1,3}:\d\d:\d\d(?:\.\d{1,9})?|\d{1,11}\.\d{1,9})? *"  # -t, -tt; -ttt, -r
    r"(?:\(\+ +(\d{1,11}\.\d{1,9})\) )?"  # -r beside -t
    r"(?:\[ *\d+\] )?(?:\[[0-9a-f?]+\] )?" + _KIND  # -n; -i
)
"""Groups: pid, pid, time, time since the last line, name of a call, name of a resumed one, another line."""
DAY = 86_400_000_000_000
EPOCH = 1_000_000_000
"""A time with as many digits is one of the epoch, not one since the last line."""

PID1, PID2, TIME, SINCE, NAME, RESUMED, OTHER = range(1, 8)


class Style(NamedTuple):
    """Expressions for the lines of one log, quicker than LINE, which takes any.

    ``line`` has LINE's groups. ``ioctl`` is a whole ioctl that returned 0:
    pid, time, descriptor and request, argument, duration. ``call`` is the
    beginning of any call: pid, time, name.
    """

    line: re.Pattern[str]
    ioctl: re.Pattern[str]
    call: re.Pattern[str]


_NEVER = r"((?!))?"


@cache
def _style(pid: bool, time: bool) -> Style:
    tid = r"(\d{1,10}) +" if pid else _NEVER
    now = r"(\d{1,11}\.\d{1,9}) " if time else _NEVER
    return Style(
        re.compile(_NEVER + tid + now + _NEVER + _KIND),
        re.compile(tid + now + r"ioctl\((.+), (0x[0-9a-f]{1,16})\) += 0(?: <(\d{1,9}\.\d{1,9})>)?$"),
        re.compile(tid + now + r"(\w+)\("),
    )


def style_of(found: re.Match[str]) -> Style | None:
    """The style of a log of which this is a line of LINE; ``None`` where there is none for it."""
    time = found[TIME]
    if found[PID1] or found[SINCE] or (time and (":" in time or time.index(".") < len(str(EPOCH)))):
        return None
    return _style(bool(found[PID2]), bool(time))


PATH = r"<(?:[^<>]|<[^<>]*>|(?<=-)>)*>(?:\(deleted\))?"
"""What -y and -yy write behind a descriptor."""
_RESULT = re.compile(
    rf"(-?(?:0|[1-9]\d{{0,17}})|0x[0-9a-f]{{1,16}}|\?)({PATH})?"
    r"(?: ([A-Z]\w+)(?: \([^)]*\))?)?(?: \(.*\))?(?: <(\d{1,9}\.\d{1,9})>)?$"
)


class Result(NamedTuple):
    """What comes behind "=": ``ret`` is ``None`` for "?", negative on error; ``path`` is what -y wrote."""

    ret: int | None
    path: str | None
    failed: str | None
    took: int | None


@lru_cache(maxsize=8192)
def result_of(text: str) -> Result | None:
    """A result, ``None`` where it is none."""
    found = _RESULT.match(text)
    if found is None:
        return None
    number, path, failed, took = found.groups()
    duration = nanoseconds(took) if took else None
    if failed is not None and number in ("-1", "?"):
        return Result(error_number(failed), path, failed, duration)
    return Result(None if number == "?" else int(number, 0), path, None, duration)


def split(text: str) -> tuple[str, Result | None]:
    """Arguments and result of what follows a call's opening bracket; no result: the call is not finished."""
    at = text.rfind(" = ")
    if at < 0:
        return text, None
    args = text[:at].rstrip()
    if args[-1:] != ")":
        return text, None
    return args[:-1], result_of(text[at + 3 :])


UNFINISHED = re.compile(r" ?<(?:unfinished \.\.\.|pid changed to [^>]{1,40})>$")
ENDED = re.compile(r"(?:exited with (\d+)|killed by (\w+)).*")

_PATH_IN = re.compile(r"<((?:/|\\x2f|anon_inode:|\w+:)[^<>]*)")


def path_of(text: str | None) -> str | None:
    """The path in what -y and -yy write behind a descriptor: "</dev/nvidia0<char 195:0>>"."""
    if not text:
        return None
    found = _PATH_IN.match(text)
    return unescape(found[1]) if found else ""


def unescape(text: str) -> str:
    """A string as it was, of strace's escapes; what is no escape stays."""
    if "\\" not in text:
        return text
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return text


@lru_cache(maxsize=256)
def error_number(name: str) -> int:
    """The raw return of an error: -2 of "ENOENT", -512 of "ERESTARTSYS"; -1 where the name is unknown."""
    restart = {"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514, "ERESTART_RESTARTBLOCK": 516}
    number = restart.get(name) or int(getattr(errno, name, 0))
    return -number or -1


def nanoseconds(text: str) -> int:
    """Of "1700000000.123456", exactly."""
    whole, _, part = text.partition(".")
    return int(whole + part.ljust(9, "0")[:9])


duration = lru_cache(maxsize=8192)(nanoseconds)
"""The same for durations, of which most come again and again."""


class Clock:
    """Times of lines in ns, whatever the log has: of the day, of the epoch, since the last line, or none.

    Without times each line gets the number it has, as µs, so that the order stays.
    """

    def __init__(self) -> None:
        self.kind = ""
        """What the log has: "day", "epoch", "relative", or "" for none."""
        self._now = 0
        self._midnight = 0
        self._second = ("", 0)
        self._fine = False

    def at(self, text: str | None, since: str | None) -> int:
        """The time of a line; ``text`` and ``since`` are its time groups.

        Where ``absolute`` it may be asked for some lines only, otherwise for each.
        """
        if self.kind == "epoch" and text is not None and text[-7:-6] == ".":
            self._now = int(text[:-7] + text[-6:]) * 1000
        elif text is None and since is None:
            self._now += 1000
        elif text is None:
            self.kind = self.kind or "relative"
            self._now += nanoseconds(since or "0")
        elif ":" in text:
            self.kind = "day"
            self._day(text, since)
        else:
            self._number(text)
        return self._now

    @property
    def absolute(self) -> bool:
        """Each line's time stands for itself."""
        return self.kind == "epoch" or (self.kind == "day" and self._fine)

    def _number(self, text: str) -> None:
        if text.index(".") >= len(str(EPOCH)):
            self.kind = "epoch"
            self._now = nanoseconds(text)
        else:
            self.kind = "relative"
            self._now += nanoseconds(text)

    def _day(self, text: str, since: str | None) -> None:
        clock, _, part = text.partition(".")
        self._fine = bool(part)
        if clock != self._second[0]:
            hours, minutes, seconds = clock.split(":")
            start = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000_000
            if start + self._midnight < self._now - DAY // 2:
                self._midnight += DAY
            self._second = (clock, start)
        now = self._midnight + self._second[1] + int(part.ljust(9, "0")[:9])
        # -t has whole seconds only: what -r says beside it is finer, and time does not run backwards.
        self._now = max(self._now + nanoseconds(since), now) if since and not part else now
