"""The command line `gpugraph`; each of its commands has a module here."""

from gpugraph.cli.command_line import main as main
