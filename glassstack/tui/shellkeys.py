"""What a key sends to a program in a terminal, as xterm sends it. Pure."""

LEAVE = "ctrl+right_square_bracket"
"""The one key that never reaches the program: it leads out of the shell pane."""

_PLAIN = {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "insert": "\x1b[2~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "shift+tab": "\x1b[Z",
    "space": " ",
}
_ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_FUNCTIONS = {
    **dict(zip(("f1", "f2", "f3", "f4"), "PQRS", strict=True)),
    **{f"f{5 + at}": str(code) for at, code in enumerate((15, 17, 18, 19, 20, 21, 23, 24))},
}
_CONTROLS = {
    "at": 0,
    "space": 0,
    "left_square_bracket": 27,
    "backslash": 28,
    "right_square_bracket": 29,
    "circumflex_accent": 30,
    "underscore": 31,
}
_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}


def sequence(key: str, character: str | None, app_cursor: bool = False) -> bytes:
    """The bytes of a key by Textual's name; empty for one that no terminal knows."""
    if key in _PLAIN:
        return _PLAIN[key].encode()
    *modifiers, name = key.split("+") if key != "+" else ["+"]
    if name in _ARROWS:
        return _moved(_ARROWS[name], modifiers, app_cursor)
    if name in _FUNCTIONS:
        return _function(_FUNCTIONS[name])
    if "ctrl" in modifiers:
        code = _CONTROLS.get(name, ord(name) & 31 if len(name) == 1 and name.isalpha() else -1)
        return b"" if code < 0 else (b"\x1b" if "alt" in modifiers else b"") + bytes([code])
    text = character if character and character.isprintable() else name if len(name) == 1 else ""
    return ("\x1b" if "alt" in modifiers and text else "").encode() + text.encode()


def _moved(letter: str, modifiers: list[str], app_cursor: bool) -> bytes:
    if modifiers:
        return f"\x1b[1;{1 + sum(_MODIFIERS.get(word, 0) for word in modifiers)}{letter}".encode()
    return f"\x1b{'O' if app_cursor else '['}{letter}".encode()


def _function(code: str) -> bytes:
    return f"\x1b[{code}~".encode() if code.isdigit() else f"\x1bO{code}".encode()


def pasted(text: str, bracketed: bool) -> bytes:
    """Pasted text; a program that asked for it is told where it begins and ends."""
    text = text.replace("\r\n", "\r").replace("\n", "\r")
    if not bracketed:
        return text.encode()
    return b"\x1b[200~" + text.replace("\x1b", "").encode() + b"\x1b[201~"
