"""Analyses for the passes: control flow, shapes, references, purity, fusibility, step times."""
