"""From ops on shapes to programs, and from sources to machine code, for CPU and GPU."""
