"""What passes hand on: the unit, guards, loops' levels; and which rewrites are on."""
