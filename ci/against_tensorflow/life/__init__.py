"""Programs of a training's life, by subject; see queue_programs.py and training_life.py."""
