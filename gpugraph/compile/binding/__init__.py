"""Binding: creation of the plan from the unit: memory, callables, and a report of each op's
placement.
"""
