"""Students: small models trained on the examples of `hopgraph distill`, and assigned to a role as `student:DIR`.

To train and use a student:

    examples = read_examples(DIR)                     # what `hopgraph distill` wrote
    base = find_base("smollm2")                       # weights from a folder, a GGUF file or the hub
    record = train(plan, progress)                    # writes STUDENT; the same call resumes it
    model = make_student("STUDENT")                   # a LangChain chat model, loaded on first use
"""
