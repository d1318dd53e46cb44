"""Neural networks, op by op."""
