"""REPLUG: read each passage separately, and weight the answers by similarity.

The paper's claim: an unmodified model benefits from an ensemble over runs with one passage each, weighted by its
similarity to the question, which handles more passages than one prompt and tolerates unhelpful ones.

Paper: "REPLUG: Retrieval-Augmented Black-Box Language Models" (Shi et al., 2023, arXiv 2301.12652), as RA-ISF compares
with it (section 4.2 and Table 1): p(y | x) = Σ_d λ(d, x) p(y | d∘x), λ the softmax of the retriever's scores. Every
passage proposes an answer; each answer is scored under every passage by the log-probabilities of its tokens, and the
most likely one is returned.

Checked against RA-ISF's account of it, not against the authors' code. Where this differs:
* the paper sums the next-token distributions and generates from the sum, which no server offers; here y is
  a whole answer, chosen among those that the passages propose;
* the retriever is used as it is: the training of REPLUG LSR, which RA-ISF describes, is omitted;
* λ is the softmax of whatever scores the retriever returns; `weight_temperature` adapts to their scale;
* a proposal is a reply of the shared reader, which may abstain, and scores are requested with a plain-text prompt.

k passages with a different answers cost k + a·k calls in two turns, or k in one turn if they agree. The model's
server must return log-probabilities of a text: vLLM, llama.cpp (`gguf:FILE`); the error says what others lack.
"""

from hopgraph.graphs.baselines import chain
from hopgraph.nodes.ensemble import ensemble, propose_answers
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import take_top
from hopgraph.state.baselines import ReplugContext, SamplesState

Context = ReplugContext
build = chain(Context, SamplesState, retrieve=retrieve, take_top=take_top, propose=propose_answers, ensemble=ensemble)
graph = build().compile(name="REPLUG")
