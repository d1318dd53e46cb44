"""Declaration, call and registry of ops, and helpers that all op families share."""
