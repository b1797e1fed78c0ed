"""Incident drills: a healthy world, broken for real at the lowest seam, and a check of its state."""
