"""Bijectors: functions with an inverse, which transform distributions."""
