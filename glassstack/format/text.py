"""Text from the outside made safe to show: it is data, never control or markup."""

_KEEP = {0x09: " ", 0x0A: " ", 0x0D: " "}
_CONTROL = dict.fromkeys((*range(32), *range(127, 160)), "�")
_BIDI = dict.fromkeys((*range(8234, 8239), *range(8294, 8298), 8206, 8207), "�")
_TABLE = {**_CONTROL, **_BIDI, 0x2028: " ", 0x2029: " ", **_KEEP}


def plain(text: str) -> str:
    """``text`` on one line, without control or direction-changing characters."""
    if text.isascii() and text.isprintable():
        return text
    return text.encode("utf-8", "replace").decode().translate(_TABLE)
