"""The rows of the module table for contrib, and names that only they stand for."""
