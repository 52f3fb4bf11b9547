"""What the steps that work on a tree of questions share (RA-ISF, Least-to-most)."""
