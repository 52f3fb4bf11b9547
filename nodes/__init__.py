"""The steps that graphs are built from: one per file, named by its verb."""
