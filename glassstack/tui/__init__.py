"""The screen. Draws snapshots; starts nothing, reads no files, knows no collectors."""
