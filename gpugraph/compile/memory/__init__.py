"""Memory planning: one order of execution for all devices, and the storage of each tensor."""
