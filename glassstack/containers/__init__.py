"""Containers and GPUs: what is injected, by which rules, and how a start is told in words."""
