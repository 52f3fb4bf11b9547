"""The command line: `hopgraph`."""

from hopgraph.tools.cli.app import main, script

__all__ = ["main", "script"]
