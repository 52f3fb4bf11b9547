"""The sample corpus of the package, so that a first question needs no download.

Short passages written for this project, with two- and three-hop questions, as a data set in BEIR format. It is for
trials and examples; scores on it mean nothing, since it is far too small and clean.
"""
