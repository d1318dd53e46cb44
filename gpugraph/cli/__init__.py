"""The command line; each command has a file."""

from gpugraph.cli.command_line import main as main
