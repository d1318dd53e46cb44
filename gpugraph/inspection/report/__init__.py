"""The report of a step: one HTML page that needs no network."""
