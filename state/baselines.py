"""State and settings of the baselines, ordered by how they use passages.

Own knowledge: Direct, CoT. Given passages. One retrieval: OneR, VANILLA, VANILLA-s, SUMM, SNIPPET; at most one: SKR.
Several samples or readings: CoT-SC, RERANK, REPLUG, Self-RAG. Passages from own knowledge: GenRead, GRG. Alternating
retrieval and thought: ITER-RETGEN, IRCoT. Queries sampled hop by hop: DSP. Alternating questions and retrieval: ReAct,
Search-o1, Self-Ask. Decomposition up front: Least-to-most. Text revised with what is retrieved for it: ITRG,
Verify-and-Edit, VTG, SearChain. Free-form turns of the model: the agent, Search-R1.
"""

from typing import Annotated, ClassVar, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict, override

from hopgraph.state.context import Context, Presets, Resource, StepNodes, method_setting, setting
from hopgraph.state.hops import HopsContext, HopsState
from hopgraph.state.migres import MigresState
from hopgraph.state.passage_filtering import FilterContext, RankedContext
from hopgraph.state.question_tree import DecomposingContext
from hopgraph.state.records import Draft
from hopgraph.state.schemas import MethodState, QuestionInput

_DELTA_FOR = {"threshold_reranker": "bge"}


class OwnKnowledgeContext(Context):
    """The settings of a method that retrieves nothing."""

    resources = ()


class DirectContext(OwnKnowledgeContext):
    """The settings of Direct."""

    method = "direct"
    steps = ("answer",)


class CotContext(OwnKnowledgeContext):
    """The settings of CoT."""

    method = "cot"
    steps = ("answer_step_by_step",)
    step_nodes: ClassVar[StepNodes] = {"answer_step_by_step": ("reason",)}


class GivenPassage(TypedDict):
    """A passage supplied by the caller."""

    title: NotRequired[str]
    text: str
    id: NotRequired[str]
    """Unique among the supplied passages; if absent, `given:N`, N from 1."""


class GoldInput(QuestionInput):
    """The input of `gold_passages`."""

    gold_passages: NotRequired[list[GivenPassage]]
    """Passages to answer from, in this order. Default: the setting of this name."""


class GoldState(MethodState, GoldInput):
    """The shared keys and the supplied passages."""


class GoldPassagesContext(Context):
    """The settings of the reader with gold passages."""

    method = "gold_passages"
    steps = ("answer",)
    resources = ()

    gold_passages: list[GivenPassage] = Field(
        default_factory=list[GivenPassage],
        description='passages to answer from if the input has none, e.g. [{"title": "…", "text": "…"}]',
        json_schema_extra={"group": "Method"},
    )


class OneStepContext(Context):
    """The settings of OneR with Direct."""

    method = "one_step"
    steps = ("answer",)


class OneStepCotContext(Context):
    """The settings of OneR with CoT."""

    method = "one_step_cot"
    steps = ("answer_step_by_step",)
    step_nodes: ClassVar[StepNodes] = {"answer_step_by_step": ("reason",)}


class RerankedContext(RankedContext):
    """Settings of reranking."""

    top_k: int = setting("Retrieval", 50, "passages retrieved for the question and reranked", ge=1, le=1000)
    threshold: float | None = method_setting(
        None,
        "passages with a lower reranker score are dropped; on the reranker's raw scale. Default: none are dropped",
        allow_inf_nan=False,
    )


class VanillaContext(RerankedContext):
    """The settings of VANILLA."""

    method = "vanilla"
    steps = ("answer",)


class VanillaSContext(FilterContext):
    """The settings of VANILLA-s; δ is MIGRES's (Table 11)."""

    method = "vanilla_s"
    steps = ("answer",)
    presets: ClassVar[Presets] = {
        "multi_hop": {"threshold": 3.0, **_DELTA_FOR},
        "open_domain": {"threshold": 5.0, **_DELTA_FOR},
        "yes_no": {"threshold": 0.0, "answer_type": "yes_no", **_DELTA_FOR},
    }

    top_k: int = setting(
        "Retrieval", 50, "passages retrieved for the question and passed to the sentence filter", ge=1, le=1000
    )


class CompressedState(MethodState):
    """The shared keys and how far down the ranking was read."""

    read: int
    """Number of passages compressed so far, from the top of the ranking."""


class CompressedContext(RerankedContext):
    """Settings for compressing passages."""

    max_compressed: int = method_setting(
        20, "maximum passages to compress (one call each) until k relevant ones are found", ge=1, le=1000
    )


class SummContext(CompressedContext):
    """The settings of SUMM."""

    method = "summ"
    steps = ("summarize", "answer")


class SnippetContext(CompressedContext):
    """The settings of SNIPPET."""

    method = "snippet"
    steps = ("snippet", "answer")


MAKE_LABELS = "make them with `hopgraph build skr_knn DATASET --out FILE`, then --set labels=FILE"


class SkrKnnContext(Context):
    """The settings of SKR-knn."""

    method = "skr_knn"
    steps = ("answer_step_by_step",)
    step_nodes: ClassVar[StepNodes] = {"answer_step_by_step": ("reason", "reason_alone")}

    labels: str | None = method_setting(
        None, "file of labeled training questions, made by `hopgraph build skr_knn`; required"
    )
    neighbors: int = method_setting(5, "k: number of nearest labeled questions that vote", ge=1, le=1000)
    embedding: str = method_setting(
        "lexical", "how questions are compared: lexical (shared words) or by an embedding model, e.g. st:NAME"
    )

    @property
    @override
    def missing(self) -> str:
        """Return an error message if there are no labels, saying how to make them."""
        return "" if self.labels else f"skr_knn needs labeled training questions: {MAKE_LABELS}"


class SamplesState(MethodState):
    """The shared keys and the samples."""

    drafts: list[Draft]
    """In the order of asking, without samples that the budget did not reach; for REPLUG one per passage."""


class SamplingContext(Context):
    """Settings for sampling several answers to one question."""

    samples: int = method_setting(5, "number of answers sampled in parallel", ge=1, le=100)
    sample_temperature: float = method_setting(
        0.7,
        "temperature when several answers are sampled, instead of `temperature`: at 0 they would all be equal",
        gt=0.0,
        le=2.0,
    )


class CotScContext(SamplingContext, OwnKnowledgeContext):
    """The settings of CoT-SC; number and temperature of the samples are ours."""

    method = "cot_sc"
    steps = ("answer_step_by_step",)
    step_nodes: ClassVar[StepNodes] = {"answer_step_by_step": ("sample",)}


class RerankContext(RerankedContext, SamplingContext):
    """The settings of RERANK."""

    method = "rerank"
    steps = ("answer_step_by_step",)
    step_nodes: ClassVar[StepNodes] = {"answer_step_by_step": ("sample",)}
    resources = ("retriever", "reranker", "entailment")

    samples: int = method_setting(
        4, "number of answers sampled in parallel; the best-cited one is returned", ge=1, le=100
    )
    sample_temperature: float = method_setting(
        0.5, "temperature when several answers are sampled, as in ALCE", gt=0.0, le=2.0
    )


class ReplugContext(Context):
    """The settings of REPLUG."""

    method = "replug"
    steps = ("answer", "score_answer")
    step_nodes: ClassVar[StepNodes] = {"answer": ("propose",), "score_answer": ("ensemble",)}

    weight_temperature: float = method_setting(
        1.0,
        "temperature of the softmax that turns retriever scores into passage weights: BM25 scores differ by "
        "many units, embedding similarities by hundredths",
        ge=0.001,
        allow_inf_nan=False,
    )


class SelfRagState(MethodState):
    """The shared keys and the decision."""

    needs_retrieval: bool


class SelfRagContext(Context):
    """The settings of Self-RAG; threshold and weights are those of the authors' published code."""

    method = "self_rag"
    steps = ("self_knowledge", "critique", "answer")
    step_nodes: ClassVar[StepNodes] = {"self_knowledge": ("decide",), "answer": ("critique",)}

    reflection: Literal["records", "tokens"] = method_setting(
        "records",
        "records: any model judges relevance, support and usefulness in a JSON record (ours); tokens: read "
        "the reflection tokens of Self-RAG's own weights, from a server with a completions endpoint",
    )
    retrieval_threshold: float = method_setting(
        0.2,
        "probability of Retrieval among the retrieval tokens above which passages are retrieved; 0: always, "
        "1: never, both without a call; a record gives 1 or 0",
        ge=0.0,
        le=1.0,
    )
    relevance_weight: float = method_setting(1.0, "weight of the passage's relevance in an answer's score", ge=0.0)
    support_weight: float = method_setting(1.0, "weight of the passage's support in an answer's score", ge=0.0)
    utility_weight: float = method_setting(0.5, "weight of the answer's usefulness in its score", ge=0.0)


class PartsState(HopsState):
    """The shared keys, and a question's parts as hops."""

    sub_questions: list[str]
    """In answering order, with `#1` for the answer to the first; empty if the question is not decomposed."""
    claims: list[str]
    """The model's claims about them, made before reading passages; empty strings or an empty list if it makes none."""


class GenReadContext(OwnKnowledgeContext):
    """The settings of GenRead."""

    method = "genread"
    steps = ("write_passage", "decompose", "answer")
    step_nodes: ClassVar[StepNodes] = {"write_passage": ("generate",), "answer": ("read", "read_part", "compose")}
    presets: ClassVar[Presets] = {
        "multi_hop": {"decomposition": True},
        "open_domain": {},
        "yes_no": {"decomposition": True, "answer_type": "yes_no"},
    }

    decomposition: bool = method_setting(
        False,
        "decompose the question, answer the sub-questions in order, each with the previous answers, and "
        "compose the answer",
    )
    max_sub_questions: int = method_setting(
        5, "maximum sub-questions that the question is decomposed into", ge=1, le=20
    )


class GrgContext(GenReadContext):
    """The settings of GRG."""

    method = "grg"
    steps = ("write_passage", "decompose", "answer")
    step_nodes: ClassVar[StepNodes] = {"write_passage": ("generate",), "answer": ("read", "read_part", "compose")}
    resources = ("retriever",)


class IterRetgenState(MethodState):
    """The shared keys and what ITER-RETGEN generates."""

    generated: str
    """Text of the last turn, used in the next query; may be empty."""


class IterRetgenContext(Context):
    """The settings of ITER-RETGEN."""

    method = "iter_retgen"
    steps = ("answer_step_by_step",)
    step_nodes: ClassVar[StepNodes] = {"answer_step_by_step": ("generate",)}

    iterations: int = method_setting(
        2, "T: rounds of retrieval and generation; the last one gives the answer", ge=1, le=20
    )


class IrcotState(MethodState):
    """The shared keys and the chain of thought."""

    thoughts: list[str]


class IrcotContext(Context):
    """The settings of IRCoT."""

    method = "ircot"
    steps = ("next_thought", "answer_step_by_step")
    step_nodes: ClassVar[StepNodes] = {"next_thought": ("reason",), "answer_step_by_step": ("read",)}

    max_thoughts: int = method_setting(
        8, "maximum sentences in the chain of thought; Tree of Reviews compares with 3", ge=1, le=50
    )
    max_passages: int = setting("Retrieval", 15, "maximum passages collected over all retrievals", ge=1, le=200)


class DspState(SamplesState):
    """The shared keys, the samples of the answer, and those of the queries; `iteration` counts the hops."""

    sampled: dict[str, int]
    """How many samples wrote each query of this hop, by query text."""


class DspContext(SamplingContext):
    """The settings of DSP; the numbers of sampled queries and answers are those of the authors' code."""

    method = "dsp"
    steps = ("write_query", "answer_step_by_step")
    step_nodes: ClassVar[StepNodes] = {"write_query": ("write_queries",), "answer_step_by_step": ("sample",)}
    presets: ClassVar[Presets] = {
        **SamplingContext.presets,
        "dspy": {"queries_per_hop": 1, "samples": 1, "top_k": 3, "context": "all_hops"},
    }

    max_hops: int = method_setting(2, "number of hops", ge=1, le=10)
    queries_per_hop: int = method_setting(
        10,
        "queries sampled per hop; each of them, and the question, retrieves three times `top_k` "
        "passages, of which the hop keeps that many after fusion; 1: a single query, not sampled",
        ge=1,
        le=50,
    )
    samples: int = method_setting(20, "number of answers sampled in parallel", ge=1, le=100)
    context: Literal["last_hop", "all_hops"] = method_setting(
        "last_hop",
        "last_hop: each hop's passages (from the second on preceded by the reason for its query) replace "
        "those of earlier hops; all_hops: they are added, as in DSPy",
    )


class ReactContext(HopsContext):
    """The settings of ReAct."""

    method = "react"
    steps = ("act", "answer")
    step_nodes: ClassVar[StepNodes] = {"answer": ("best_answer",)}


class SearchO1Context(HopsContext):
    """The settings of Search-o1; the numbers are those of the authors' code for multi-hop questions."""

    method = "search_o1"
    steps = ("continue_reasoning", "reason_in_documents", "answer")
    step_nodes: ClassVar[StepNodes] = {"continue_reasoning": ("reason",), "answer": ("best_answer",)}

    top_k: int = setting("Retrieval", 10, "passages condensed per search", ge=1, le=1000)
    max_hops: int = method_setting(10, "maximum searches before a best-effort answer is forced", ge=1, le=50)


class SelfAskContext(HopsContext):
    """The settings of Self-Ask."""

    method = "self_ask"
    steps = ("follow_up", "follow_up_jointly", "answer")
    step_nodes: ClassVar[StepNodes] = {"answer": ("intermediate_answer", "best_answer")}

    prompting: Literal["separate", "joint"] = method_setting(
        "separate",
        "separate: one call for a follow-up question, one for its intermediate answer from its own passages; "
        "joint: a single call answers the last question and asks the next one, over all passages so far "
        "(BlendFilter, MIGRES, ToR)",
    )


class LeastToMostContext(DecomposingContext):
    """The settings of Least-to-most; the defaults are RA-ISF's (Table 1), without retrieval."""

    method = "least_to_most"
    steps = ("decompose", "answer")
    step_nodes: ClassVar[StepNodes] = {"answer": ("answer_part",)}

    retrieval: bool = method_setting(False, "retrieve passages for each sub-question and for the question")

    @property
    @override
    def required_resources(self) -> frozenset[Resource]:
        """Return a retriever if passages are retrieved."""
        return super().required_resources if self.retrieval else frozenset()


class ItrgState(MethodState):
    """The shared keys and the document."""

    document: str
    """The current text; empty until the model has written one."""
    round_before: list[str]
    """Ids of the passages that the last round found."""


class ItrgContext(Context):
    """The settings of ITRG; rounds, passages and the better mode are the paper's."""

    method = "itrg"
    steps = ("rewrite_passage", "answer")
    step_nodes: ClassVar[StepNodes] = {"rewrite_passage": ("write",), "answer": ("read",)}

    iterations: int = method_setting(
        5, "T: rounds of retrieving and rewriting the document, after the first search", ge=1, le=20
    )
    mode: Literal["refine", "refresh"] = method_setting(
        "refresh",
        "refresh: rewrite the document from all passages of the round; refine: update it with the passages "
        "that the previous round did not find",
    )


class EditingState(SamplesState, PartsState):
    """The shared keys, the samples, and a rationale's sentences as `claims` with their verifying questions."""


class VerifyAndEditContext(SamplingContext):
    """The settings of Verify-and-Edit; sample count, temperature and number of sentences are the paper's."""

    method = "verify_and_edit"
    steps = ("answer_step_by_step", "verifying_questions", "answer_in_a_sentence", "answer")
    step_nodes: ClassVar[StepNodes] = {
        "answer_step_by_step": ("sample",),
        "verifying_questions": ("ask",),
        "answer_in_a_sentence": ("edit",),
    }

    resources = ("retriever", "reranker")

    nearest_sentences: int = method_setting(
        3, "passage sentences shown when a sentence is edited: those nearest to its question", ge=1, le=50
    )
    max_sentences: int = method_setting(10, "maximum sentences of the rationale that are verified", ge=1, le=50)


class VtgState(MigresState):
    """The shared keys; `evidence` holds the supported sentences, `drafts` the one being written, if any."""

    sentence: int
    """The position of that sentence in the text, from 1."""
    attempts: int
    """Number of attempts at this sentence."""
    rejected: list[str]
    """Sentences that nothing supports, in order."""


class VtgContext(Context):
    """The settings of VTG; its limits are ours."""

    method = "vtg"
    steps = ("next_sentence", "verifying_questions", "final_answer")
    step_nodes: ClassVar[StepNodes] = {
        "next_sentence": ("write",),
        "verifying_questions": ("ask",),
        "final_answer": ("answer",),
    }
    resources = ("retriever", "entailment")

    max_sentences: int = method_setting(6, "maximum sentences of the text", ge=1, le=50)
    max_rewrites: int = method_setting(2, "n: rewrites of an unsupported sentence before it is left out", ge=0, le=10)
    max_queries: int = method_setting(3, "maximum queries for an unsupported sentence", ge=1, le=10)


class SearchainState(PartsState):
    """The shared keys, and the nodes of the chain as `sub_questions` with the model's answers as `claims`."""

    rounds: int


class SearchainContext(HopsContext):
    """The settings of SearChain; the rounds are the paper's."""

    method = "searchain"
    steps = ("write_chain", "read_chain_node", "answer")
    step_nodes: ClassVar[StepNodes] = {"write_chain": ("chain",), "read_chain_node": ("check",)}

    max_rounds: int = method_setting(5, "maximum chains written", ge=1, le=20)
    min_confidence: int = method_setting(
        4, "minimum confidence (1 to 5) at which the reader corrects the model's answer", ge=1, le=5
    )


class AgentRunState(MethodState):
    """The shared keys and the model's conversation with its tools."""

    messages: Annotated[list[AnyMessage], add_messages]
    """Tool calls and their results; the question and the instructions are not in any message."""


class AgentContext(Context):
    """The settings of the agent."""

    method = "agent"
    steps = ("use_tools", "act")
    step_nodes: ClassVar[StepNodes] = {"use_tools": ("use_tools",), "act": ("use_tools",)}

    max_turns: int = method_setting(
        8, "maximum model replies, each with one or more tool calls; the last one must answer", ge=1, le=50
    )


class SearchR1State(MethodState):
    """The shared keys and the text that the model has written; `knowledge` has an entry for each search."""

    written: list[str]
    """The model's turns, each up to its closing tag; search results are not included."""


class SearchR1Context(Context):
    """The settings of Search-R1; the numbers are those of the authors' evaluation."""

    method = "search_r1"
    steps = ("write_turn",)
    step_nodes: ClassVar[StepNodes] = {"write_turn": ("write",)}

    top_k: int = setting("Retrieval", 3, "passages shown to the model per search", ge=1, le=1000)
    max_turns: int = method_setting(
        4,
        "maximum turns that may search, one call each; one further turn, whose search is ignored, must answer",
        ge=1,
        le=50,
    )
    prompting: Literal["records", "base", "instruct", "plain"] = method_setting(
        "records",
        "records: any model writes each turn as a JSON record. For Search-R1's own weights, over the "
        "completions endpoint of an openai: or gguf: model: base or instruct (Qwen2.5's chat template, for "
        "weights trained from that version) or plain (no template)",
    )
