"""Training sessions. Functions and classes initialize or recover a session, run it with hooks, and
close it together with its threads.
"""
