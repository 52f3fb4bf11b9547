"""Students: small models trained on the examples of `hopgraph distill`, and bound to a role as `student:DIR`.

A student is made and used in these steps:

    examples = read_examples(DIR)                     # what `hopgraph distill` wrote
    base = find_base("smollm2")                       # weights in a folder, a GGUF file, or from the hub
    record = train(plan, progress)                    # writes STUDENT, which the same call resumes
    model = make_student("STUDENT")                   # a LangChain chat model; loads at the first call
"""
