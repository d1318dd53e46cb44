"""Readers, which return the records of files. A reader takes the names of the files from a
queue.
"""
