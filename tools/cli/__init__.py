"""The command line: `hopgraph`."""

from hopgraph.tools.cli.app import main

__all__ = ["main"]
