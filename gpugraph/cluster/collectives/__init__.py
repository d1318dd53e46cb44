"""Collectives over processes: meetings of members, their exchange, and execution beside the stages.
"""
