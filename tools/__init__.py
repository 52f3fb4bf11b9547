"""Tools that nodes call: models, retrievers, rerankers, corpora, evaluation and the command line."""
