"""Graphs as pictures, without a browser, a network or a layout library."""
