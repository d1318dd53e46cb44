"""The command line `gpugraph`. Each of its commands has a module in this package."""

from gpugraph.cli.command_line import main as main
