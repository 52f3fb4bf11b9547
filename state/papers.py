"""The papers that the methods come from, each written down once."""

from typing import Final

from typing_extensions import TypedDict


class Paper(TypedDict):
    """A publication."""

    title: str
    authors: str
    """The first author and the year, as `Shao et al., 2023`."""
    arxiv: str
    """The identifier, as `2404.14043`; the page is https://arxiv.org/abs/ with it."""


def _paper(title: str, authors: str, arxiv: str) -> Paper:
    return Paper(title=title, authors=authors, arxiv=arxiv)


_TREE_OF_REVIEWS = _paper(
    "Tree of Reviews: A Tree-based Dynamic Iterative Retrieval Framework for Multi-hop Question Answering",
    "Li et al., 2024",
    "2404.14464",
)
_IRCOT = _paper(
    "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step Questions",
    "Trivedi et al., 2023",
    "2212.10509",
)
_ALCE = _paper("Enabling Large Language Models to Generate Text with Citations", "Gao et al., 2023", "2305.14627")
_COT = _paper("Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", "Wei et al., 2022", "2201.11903")
_MIGRES = _paper(
    "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower "
    "Retrieval-Augmented Generation",
    "Wang et al., 2024",
    "2404.14043",
)

PAPERS: Final[dict[str, Paper]] = {
    "migres": _MIGRES,
    "blendfilter": _paper(
        "BlendFilter: Advancing Retrieval-Augmented Large Language Models via Query Generation Blending and "
        "Knowledge Filtering",
        "Wang et al., 2024",
        "2402.11129",
    ),
    "genground": _paper(
        "Generate-then-Ground in Retrieval-Augmented Generation for Multi-hop Question Answering",
        "Shi et al., 2024",
        "2406.14891",
    ),
    "ra_isf": _paper(
        "RA-ISF: Learning to Answer and Understand from Retrieval Augmentation via Iterative Self-Feedback",
        "Liu et al., 2024",
        "2403.06840",
    ),
    "tree_of_reviews": _TREE_OF_REVIEWS,
    "chain_of_reviews": _TREE_OF_REVIEWS,
    "direct": _paper("Language Models are Few-Shot Learners", "Brown et al., 2020", "2005.14165"),
    "cot": _COT,
    "cot_sc": _paper(
        "Self-Consistency Improves Chain of Thought Reasoning in Language Models", "Wang et al., 2023", "2203.11171"
    ),
    "one_step": _IRCOT,
    "one_step_cot": _IRCOT,
    "vanilla": _ALCE,
    "vanilla_s": _MIGRES,
    "summ": _ALCE,
    "snippet": _ALCE,
    "rerank": _ALCE,
    "skr_knn": _paper(
        "Self-Knowledge Guided Retrieval Augmentation for Large Language Models", "Wang et al., 2023", "2310.05002"
    ),
    "replug": _paper("REPLUG: Retrieval-Augmented Black-Box Language Models", "Shi et al., 2023", "2301.12652"),
    "self_rag": _paper(
        "Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection",
        "Asai et al., 2023",
        "2310.11511",
    ),
    "react": _paper("ReAct: Synergizing Reasoning and Acting in Language Models", "Yao et al., 2023", "2210.03629"),
    "self_ask": _paper(
        "Measuring and Narrowing the Compositionality Gap in Language Models", "Press et al., 2023", "2210.03350"
    ),
    "iter_retgen": _paper(
        "Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy",
        "Shao et al., 2023",
        "2305.15294",
    ),
    "itrg": _paper("Retrieval-Generation Synergy Augmented Large Language Models", "Feng et al., 2023", "2310.05149"),
    "ircot": _IRCOT,
    "dsp": _paper(
        "Demonstrate-Search-Predict: Composing retrieval and language models for knowledge-intensive NLP",
        "Khattab et al., 2022",
        "2212.14024",
    ),
    "verify_and_edit": _paper(
        "Verify-and-Edit: A Knowledge-Enhanced Chain-of-Thought Framework", "Zhao et al., 2023", "2305.03268"
    ),
    "vtg": _paper(
        "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection", "Sun et al., 2024", "2312.09075"
    ),
    "searchain": _paper(
        "Search-in-the-Chain: Interactively Enhancing Large Language Models with Search for Knowledge-intensive Tasks",
        "Xu et al., 2023",
        "2304.14732",
    ),
    "least_to_most": _paper(
        "Least-to-Most Prompting Enables Complex Reasoning in Large Language Models", "Zhou et al., 2023", "2205.10625"
    ),
    "genread": _paper(
        "Generate rather than Retrieve: Large Language Models are Strong Context Generators",
        "Yu et al., 2022",
        "2209.10063",
    ),
    "grg": _paper(
        "Generator-Retriever-Generator Approach for Open-Domain Question Answering",
        "Abdallah and Jatowt, 2023",
        "2307.11278",
    ),
}
"""By method; the reader of gold passages comes from no paper and has none."""
