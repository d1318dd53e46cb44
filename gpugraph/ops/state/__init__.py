"""Ops on variables: VariableV2, assignments and scatter updates. They access variables through
references or handles.
"""
