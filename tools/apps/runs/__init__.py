"""One run for people: as lines, as a tree, as a picture; and as a JSON record."""
