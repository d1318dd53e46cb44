"""Ops that create constants, and ops that change shapes and dtypes, such as reshape, cast, concat,
split and pad.
"""
