"""From evidence to causes: what people paste, or what this host shows, read by the same rules.

intake → clean → scan → recognise (one table row per kind of evidence) → facts
→ rules → verdict. Draws nothing and exits nowhere: that is the command line's.
"""
