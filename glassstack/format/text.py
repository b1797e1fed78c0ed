"""Text from the outside made safe to show: it is data, never control or markup."""

_KEEP = {0x09: " ", 0x0A: " ", 0x0D: " "}
_CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_BIDI = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)
}
_TABLE = {**_CONTROL, **_BIDI, 0x2028: " ", 0x2029: " ", **_KEEP}


def plain(text: str) -> str:
    """``text`` on one line, without control or direction-changing characters."""
    if text.isascii() and text.isprintable():
        return text
    return text.encode("utf-8", "replace").decode().translate(_TABLE)
