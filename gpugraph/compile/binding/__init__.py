"""Binding: creation of the plan from the unit, with its memory, its callables, and a report of each
op's placement.
"""
