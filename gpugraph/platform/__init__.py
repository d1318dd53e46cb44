"""What programs stand on: app, flags, logging, files."""
