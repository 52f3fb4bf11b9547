"""Shared by the steps that work on a tree of questions (RA-ISF, Least-to-most)."""
