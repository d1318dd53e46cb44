"""Collectives over several processes. Their members meet and exchange data while the stages of a
run are executed.
"""
