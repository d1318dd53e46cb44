"""Analyses that several passes use: control flow, shapes, references, purity, fusibility, step
times.
"""
