"""Signal handlers and forks, which may interrupt a program between any two of its instructions."""
