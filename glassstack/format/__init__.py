"""Values to text: units, durations, names. No Rich, no Textual, no I/O."""
