"""One run, shown: as lines, as a tree, as a picture, as a record."""
