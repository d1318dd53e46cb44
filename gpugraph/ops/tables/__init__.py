"""Tables from keys to values, and the files from which they are filled. A session keeps the tables.
Ops refer to them by handles.
"""
