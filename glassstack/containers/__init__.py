"""How a GPU enters a container: CDI specifications, and images that bring what only the host may.

Reads and writes files; starts no container and draws nothing.
"""
