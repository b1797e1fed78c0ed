"""strace's text to events: any version and option set. Pure: lines in, events out, no file is opened here."""

from glassstack.decoders.strace.parser import Parser

__all__ = ["Parser"]
