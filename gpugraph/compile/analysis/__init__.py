"""Analyses for the passes: shapes, liveness, references, purity, fusibility."""
