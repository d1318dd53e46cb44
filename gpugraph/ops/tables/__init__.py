"""Tables from keys to values, which a session holds behind handles, and the files from which they
are filled.
"""
