"""The nodes that graphs are built from: one file per node, or for a few that belong together."""
