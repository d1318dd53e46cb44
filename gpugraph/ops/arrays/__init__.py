"""Ops that change shapes and dtypes, such as reshape, cast, concat, split and pad, and
constants.
"""
