"""Bits of a number as words. Pure."""

from collections.abc import Mapping


def bits(value: int, words: Mapping[int, str], none: str = "0") -> str:
    """The words of the bits that are set, joined by "|"; what is left over in hexadecimal."""
    known = [word for bit, word in words.items() if value & bit == bit]
    for bit in words:
        value &= ~bit
    if value:
        known.append(f"0x{value:x}")
    return "|".join(known) or none
