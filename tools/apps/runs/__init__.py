"""Displays of one run: as lines, a tree, or a picture; and its JSON record."""
