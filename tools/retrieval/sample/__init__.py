"""The sample corpus that comes with the package, so that a first question needs no download.

Short passages written for this project, with two- and three-hop questions, as a data set in BEIR form. It is for trying
things out and for examples; it is far too small and too clean for a score on it to mean anything.
"""
