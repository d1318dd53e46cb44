"""Collectives over processes: their members meet and exchange data while the stages of a run
continue.
"""
