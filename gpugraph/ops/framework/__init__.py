"""Declaration, call and registry of ops, and helpers that all families share."""
