"""Models with weights: named by a spec, found on disk or on the hub, loaded once, each run by one thread.

`local_scorer` of `text_model.py` shows the steps, from `parse_spec` and `locate` to `load_once` and `Batched`.
"""
