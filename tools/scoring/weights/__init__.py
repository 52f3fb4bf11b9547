"""Models with weights: named by a spec, found on disk or on the hub, loaded once, each run by one thread.

`local_scorer` of `text_model.py` shows the steps, from `read_spec` and `locate` to `shared` and `Batched`.
"""
