"""Programs for Python 2: their translation, and files and attributes as in Python 2."""
