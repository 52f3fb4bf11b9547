"""The command line: `hopgraph`."""

from hopgraph.tools.apps.cli.app import main, script

__all__ = ["main", "script"]
