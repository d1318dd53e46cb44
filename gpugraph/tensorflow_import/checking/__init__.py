"""The check of programs that are read and not run: their names and their arguments."""
