"""Data that the passes share: the unit, guards, levels of loops, and the settings that switch
passes on and off.
"""
