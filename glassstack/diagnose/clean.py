"""A raw line made plain: control codes, quotes and the prefixes of log shippers taken off.

Owns what a line may come wrapped in. Pure; counts what it did.
"""

import json
import re
from collections import Counter
from typing import NamedTuple

LINE_MAX = 4096
_ODD = re.compile(r"[^\x20-\x7e]")
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])?"
)
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "\t": " ", "\ufeff": ""})
_REST = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")

_STAMP = re.compile(r"\[ *(\d+\.\d+)\](?:\[ *[TC]\d+\])? ?")
_WRAPS = tuple(
    re.compile(pattern)
    for pattern in (
        r"<\d{1,3}>(?:\d+,\d+,\d+,[^;]*;)?",
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?: std(?:out|err) [FP])? +",
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? (?:\S+ (?=[\w.()/@-]+(?:\[\d+\])?: ))?",
        r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ?",
        r"(?:[\w.-]+ )?kernel(?:\[\d+\])?: ?",
        r"[a-z0-9]+ *:[a-z]+ *: (?=\[)",
        r"\[pod/[^\]]*\] ",
        r"> ",
    )
)
_FIRST = frozenset("<0123456789[ABCDEFGHIJKLMNOPQRSTUVWXYZk>{uldsanm")


class Clean(NamedTuple):
    """A line without its wrapping; ``stamp`` is the kernel's, in seconds since boot."""

    text: str
    stamp: float | None


def decode(raw: bytes, did: Counter[str]) -> str:
    """Bytes as printable text on one line; ``did`` counts what was taken off or replaced."""
    if len(raw) > LINE_MAX:
        did["lines cut at 4 KiB"] += 1
        raw = raw[:LINE_MAX]
    text = raw.decode("utf-8", "replace")
    if _ODD.search(text) is None:
        return text
    if "\ufffd" in text:
        did["lines with bytes that are not UTF-8"] += 1
    if "\0" in text:
        did["lines with NUL bytes removed"] += 1
    if text.endswith("\r"):
        did["lines that ended in CR LF"] += 1
        text = text[:-1]
    if "\x1b" in text:
        did["lines with terminal codes removed"] += 1
        text = _ANSI.sub("", text)
    text = text.replace("\0", "").replace("\r", " ").translate(_QUOTES)
    return _REST.sub("", text)


def unwrap(text: str, did: Counter[str]) -> list[Clean]:
    """The line without shipper prefixes; a JSON record may hold several lines."""
    if text.startswith("{") and text.rstrip().endswith("}"):
        told = _from_json(text)
        if told is not None:
            did["lines taken out of JSON records"] += 1
            return [
                one
                for line in told.splitlines()[:64]
                for one in unwrap(decode(line.encode("utf-8", "replace"), did), did)[:1]
            ]
    return [_strip(text)]


def _strip(text: str) -> Clean:
    stamp: float | None = None
    for _ in range(6):
        if not text or text[0] not in _FIRST:
            break
        found = _STAMP.match(text)
        if found:
            stamp = float(found[1])
            text = text[found.end() :]
            continue
        for wrap in _WRAPS:
            found = wrap.match(text)
            if found:
                text = text[found.end() :]
                break
        else:
            break
    return Clean(text, stamp)


def _from_json(text: str) -> str | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for key in ("log", "MESSAGE", "message", "msg", "_line"):
        if isinstance(record, dict) and isinstance(record.get(key), str):
            told: str = record[key]
            return told
    return None
