"""The command line: one file a command."""

from gpugraph.cli.command_line import main as main
