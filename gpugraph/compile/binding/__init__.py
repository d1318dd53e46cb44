"""Binding: creates the plan from the unit, with memory, callables, and a report of each op's
placement.
"""
