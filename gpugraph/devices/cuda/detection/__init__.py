"""Which GPUs there are; if none, why."""
