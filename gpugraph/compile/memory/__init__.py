"""One order for all devices, and where each tensor lives."""
