"""Takes out of a text what names people and machines; the same name gets the same stand-in everywhere. Pure.

Owns what counts as such: host and user names, addresses, serial numbers, UUIDs, tokens, mail addresses.
"""

import re
from collections.abc import Iterable

_UUID = re.compile(r"\b(?P<kind>GPU-|MIG-)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")
_LONG_ID = re.compile(r"\b[0-9a-f]{64}\b")
_IP4 = re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])")
_IP6 = re.compile(
    r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,7}(?::[0-9a-fA-F]{1,4}){1,6}"
    r"|(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}(?![\w:])"
)
_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,190}\b")
_SERIAL = re.compile(r"(?i)(?P<before>serial(?: number)?[ \t]*[:=][ \t]*)(?P<value>[\w-]+)")
_SECRET = re.compile(
    r"(?i)(?<!\w)(?P<before>(?:\w{0,40}?(?:token|passw(?:or)?d"
    r"|secret|api_?key|credential)\w{0,40}|authorization)[\"']?[ \t]*[:=][ \t]*)"
    r"(?P<value>(?:bearer )?\S+)"
)
_HOME = re.compile(r"(?P<before>/home/)(?P<value>[\w.-]+)")
_PROMPT = re.compile(r"(?m)^(?P<before>\[?)(?P<value>[\w.-]+@[\w.-]+)(?=[: ])")


class Redactor:
    """Remembers what it replaced, so that a name stays one name.

    Args:
        hosts, users: names known to be in the texts.
    """

    def __init__(self, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._words = [(word, "host") for word in hosts if len(word) > 1]
        self._words += [(word, "user") for word in users if len(word) > 2 and word not in ("root", "nobody")]

    def __call__(self, text: str) -> str:
        """The text without them."""
        for word, kind in self._words:
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", self._stand_in(kind, word), text)
        text = _SECRET.sub(lambda found: f"{found['before']}<secret>", text)
        text = _SERIAL.sub(lambda found: found["before"] + self._stand_in("serial", found["value"]), text)
        text = _UUID.sub(lambda found: self._uuid(found["kind"] or "", found[0]), text)
        text = _LONG_ID.sub(lambda found: f"{self._number('id', found[0]):064x}", text)
        text = _MAIL.sub(lambda found: self._stand_in("mail", found[0]), text)
        text = _PROMPT.sub(lambda found: f"{found['before']}user@host", text)
        text = _MAC.sub(lambda found: f"02:00:00:00:00:{self._number('mac', found[0]) & 0xFF:02x}", text)
        text = _IP6.sub(lambda found: f"2001:db8::{self._number('ip6', found[0]):x}", text)
        text = _IP4.sub(lambda found: f"192.0.2.{self._number('ip4', found[0]) % 255}", text)
        return _HOME.sub(lambda found: found["before"] + self._stand_in("user", found["value"]), text)

    def _number(self, kind: str, value: str) -> int:
        self._stand_in(kind, value)
        return int(self._known[kind, value].rpartition("-")[2])

    def _stand_in(self, kind: str, value: str) -> str:
        if re.fullmatch(rf"{kind}-\d+", value):
            return value
        if (kind, value) not in self._known:
            count = sum(1 for known, _ in self._known if known == kind)
            self._known[kind, value] = f"{kind}-{count + 1}"
        return self._known[kind, value]

    def _uuid(self, kind: str, value: str) -> str:
        return f"{kind}00000000-0000-0000-0000-{self._number('uuid', value):012x}"
