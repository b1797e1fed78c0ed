"""Widgets shared by the panes: lines that repaint only what changed, bars, the inspector."""
