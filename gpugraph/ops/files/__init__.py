"""Files read and written in a run, and records decoded."""
