"""glassstack: the GPU software stack made glass, live, in a terminal.

Owns the version and nothing else: importing the package imports no other
module, so that every floor can be imported on its own.
"""

__version__ = "0.1.0"
