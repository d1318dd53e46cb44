"""Memory planning: one order for all devices, and the location of each tensor."""
