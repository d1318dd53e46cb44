"""Binding: the plan is created from the unit, with memory and callables, and the report of each
op's placement.
"""
