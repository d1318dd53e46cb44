"""Is there a GPU, and if not, why."""
