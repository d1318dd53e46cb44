"""Sums and extremes by segment: the parts of a tensor with the same segment id form a segment."""
