"""SNIPPET: retrieve, rerank, copy snippets of the best passages, then answer from the snippets.

The paper's claim: like summaries, short snippets make room for the content of more passages, but they
keep the passages' own words.

Paper: "Enabling Large Language Models to Generate Text with Citations" (Gao et al., 2023, arXiv 2305.14627; ALCE), as
MIGRES compares with it (sections 4.2 and 4.4, Tables 3 and 16): snippets are taken from the top passage down until
five (k) are relevant, in batches of as many as are still missing; zero-shot. *Ours*: at most `max_compressed` of
them. One call per snippet, and one for the answer, which cites the passages, not the snippets.
"""

from hopgraph.graphs.baselines.summ import compressing
from hopgraph.state.baselines import SnippetContext

Context = SnippetContext
build = compressing(Context, "snippet")
graph = build().compile(name="SNIPPET")
