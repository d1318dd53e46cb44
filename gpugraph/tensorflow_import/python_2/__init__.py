"""Support for programs for Python 2: translation of their source, and Python 2's files and
attributes.
"""
