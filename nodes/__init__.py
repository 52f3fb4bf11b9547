"""The nodes that graphs are built from: one file per node, or per group of related nodes."""
