"""What comes between any two instructions: handlers of signals, and forks."""
