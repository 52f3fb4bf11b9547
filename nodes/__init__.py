"""The steps that graphs are built from: one per file, with its variants and what belongs to it, named by its verb."""
