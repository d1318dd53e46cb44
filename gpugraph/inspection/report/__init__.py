"""The report of a step: one self-contained HTML page."""
