"""Analyses that several passes use: control flow, shapes, references, purity, fusibility, and the
times of steps.
"""
