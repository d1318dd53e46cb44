"""The rows of the module table for contrib, and the functions that only contrib has."""
