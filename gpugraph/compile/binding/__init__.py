"""Binding: the plan is bound and frozen, with a report of each op's placement."""
