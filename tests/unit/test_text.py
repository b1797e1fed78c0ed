"""plain(): nothing from outside reaches the terminal as control."""

from glassstack.format.text import plain


def test_printable_text_is_untouched() -> None:
    assert plain("fakegpu-train --rate 50") == "fakegpu-train --rate 50"
    assert plain("Grüße, 世界") == "Grüße, 世界"


def test_control_and_direction_characters_are_replaced() -> None:
    assert "\x1b" not in plain("\x1b]0;owned\x07x")
    assert plain("a\nb\tc\rd") == "a b c d"
    assert plain("\x9b31m") == "\N{REPLACEMENT CHARACTER}31m"
    assert "\u202e" not in plain("abc\u202edef")


def test_lone_surrogates_from_undecodable_names_survive() -> None:
    name = b"bad\xff".decode("utf-8", "surrogateescape")
    assert plain(name) == "bad?"
