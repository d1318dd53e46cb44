"""Support for programs: app, flags, logging, files."""
