"""Bijectors: functions with an inverse, which can therefore transform distributions."""
