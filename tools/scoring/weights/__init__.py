"""Models with weights: named by a spec, found on disk or on the hub, loaded once, used by one thread each.

A model of any kind is loaded in these steps:

    named = read_spec(spec, LOCAL_OPTIONS)            # bge:NAME?device=cuda&dtype=fp16
    place = placement_of(named)                       # device and precision
    folder = locate(named)                            # the folder with its files; downloads at most once
    check_weights(named, folder)                      # safe to load, and complete
    model = shared(("bge", folder, place), lambda: Batched(load(folder, place)))
    scores = model(pairs)                             # from any thread, or: await model.acall(pairs)
"""
