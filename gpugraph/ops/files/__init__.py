"""Ops that read and write files in a run, and decode records."""
