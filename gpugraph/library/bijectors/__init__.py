"""Bijectors: functions that have an inverse and so can transform distributions."""
