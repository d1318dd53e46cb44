"""Binding: the creation of the plan from the unit, with its memory and callables, and with a report
of each op's placement.
"""
