"""Data that the passes share: the unit, guards, levels of loops, and the settings that enable and
disable passes.
"""
