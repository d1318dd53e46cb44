"""Explanations of runs, as text, HTML and records."""
