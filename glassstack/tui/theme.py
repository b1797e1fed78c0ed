"""What Textual's own widgets (prompt, palette) look like: the terminal's colours, nothing else."""

import dataclasses

from textual.theme import BUILTIN_THEMES

_BASE = BUILTIN_THEMES["ansi-dark"]
THEME = dataclasses.replace(
    _BASE,
    name="glass",
    primary="ansi_cyan",
    accent="ansi_cyan",
    variables={
        **_BASE.variables,
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
    },
)

CSS = """
Screen { layout: vertical; background: ansi_default; color: ansi_default; overflow: hidden; }
Lines { background: ansi_default; color: ansi_default; }
#top { height: 3; }
#bottom { dock: bottom; height: 1; }
#main { height: 1fr; layout: horizontal; }
#panes { width: 1fr; height: 1fr; }
#panes > Lines { width: 1fr; height: 1fr; }
#inspector { display: none; width: 40%; min-width: 48; height: 1fr; }
Screen.-narrow #main { layout: vertical; }
Screen.-narrow #inspector { width: 1fr; height: 55%; }
#inspector.open { display: block; }
CommandPalette > Vertical { margin-top: 2; width: 76; max-width: 96%; background: ansi_default; }
CommandPalette SearchIcon { display: none; }
CommandPalette #--input { border: none; height: 2; background: ansi_default; }
CommandPalette #--results { background: ansi_default; }
CommandPalette CommandInput { background: ansi_default; height: 1; padding: 0 1; border: none; margin: 0; }
CommandPalette > .command-palette--help-text { text-style: not bold; }
CommandPalette CommandList { border: none; background: ansi_default; }
CommandPalette LoadingIndicator { display: none; }
"""

DRILL_CSS = """
#whole { height: 1fr; layout: horizontal; }
#left { width: 1fr; height: 1fr; layout: vertical; }
#left #main { height: 1fr; }
#shell { width: 1fr; height: 48%; }
#drill { display: none; width: 46; height: 1fr; }
Screen.reading #drill { display: block; }
Screen.zoomed #main { display: none; }
Screen.zoomed #shell { height: 1fr; }
Screen.-narrow.reading #left { display: none; }
Screen.-narrow.reading.typing #left { display: block; }
Screen.-narrow.reading.typing #drill { display: none; }
Screen.-narrow #drill { width: 1fr; }
"""
