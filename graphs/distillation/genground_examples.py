"""Data for GenGround's grounding: an answer from memory and passages, to a citation and the revised answer.

Paper: GenGround, section 4.1 and Appendix III (Instructional Grounding Distillation): 50,000 questions of NQ, each with
its gold document and noise; the student's base answers from memory; a large model, helped by the gold document, writes
what the student learns. Dropped is what cites nothing, lacks a part, or does not agree with the gold evidence: 45,710
are left.

Not stated, and *ours*: noise is what the retriever finds, up to the batch that is shown in use, in a seeded order; how
agreement is decided (`filter_grounding`); JSON in place of the tags; examples without a gold passage (`negatives`).
"""

from hopgraph.graphs.distillation import distillation_chain
from hopgraph.nodes.distillation.ground_with_gold import filter_grounding, ground_with_gold, mix_with_noise
from hopgraph.nodes.generate import generate
from hopgraph.nodes.retrieve import retrieve
from hopgraph.state.distillation import GroundingDataContext

graph = distillation_chain(
    GroundingDataContext,
    generate=generate,
    retrieve=retrieve,
    mix=mix_with_noise,
    ground=ground_with_gold,
    filter=filter_grounding,
)
