"""Tree of Reviews end to end: the tree, its calls, its answers, every edge of the figure."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from hopgraph.graphs import tree_of_reviews
from hopgraph.state import SettingsError
from hopgraph.state.context import make_settings
from hopgraph.state.environment import parse_setting
from support.review_worlds import (
    QUESTION,
    accept,
    by_path,
    completed,
    fused,
    read,
    reject,
    script,
    search,
    titles_in,
    world,
)
from support.servers.scripted_model import ScriptedChatModel
from support.walks import Script, Walk, drawn_edges, walk

REVIEWS = {
    "film": search("the birthplace of Ada Brink", "where Ada Brink was born"),
    "harbour": reject(),
    "critic": accept("Tallinn", "The critic says that Ada Brink, the director, is of Tallinn."),
    "film person": accept("Tallinn"),
    "film ships": reject(),
    "film critic": reject(),
}


def two_levels() -> Any:
    return world(**{"about film": "person ships critic", "otherwise": "film harbour critic"})


def one_answer() -> Script:
    return script(REVIEWS, fuse=[fused("Tallinn", 1, 2)])


def run(said: Script, **more: Any) -> Walk:
    settings: dict[str, Any] = {"model": said.model(), "retriever": two_levels(), **more}
    return walk(tree_of_reviews.graph, {"question": QUESTION}, tree_of_reviews.Context(**settings))


def test_the_tree_of_the_figure() -> None:
    said = one_answer()
    ran = run(said)
    assert said.steps == ["review"] * 3 + ["complete"] + ["review"] * 2 + ["fuse"]
    shown = [titles_in(prompt) for prompt in said.prompts]
    assert shown == ["film", "harbour", "critic", "film", "film person", "film ships", "film person critic"]
    tree = [(key, *node["passage_ids"], node["status"], node["verdict"]) for key, node in ran.state["tree"].items()]
    assert tree == [
        ("0", "expanded", "search"),
        ("0.1", "film", "expanded", "search"),
        ("0.1.1", "person", "reviewed", "accept"),
        ("0.1.2", "ships", "reviewed", "reject"),
        ("0.1.3", "critic", "pruned", ""),
        ("0.2", "harbour", "reviewed", "reject"),
        ("0.3", "critic", "reviewed", "accept"),
    ]
    assert ran.state["tree"]["0.1"]["query"] == "about film"
    assert ran.state["asked"] == [QUESTION, "about film"]
    assert [piece["id"] for piece in ran.state["evidence"]] == ["0.1.1", "0.3"]
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("Tallinn", "answered")
    assert [(each["passage_id"], each["quote"]) for each in ran.result["citations"]] == [
        ("film", "Night Harbour is a 1961 film."),
        ("person", "She was born in Tallinn."),
        ("critic", "He praised Ada Brink of Tallinn, its director."),
    ]
    usage = ran.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"], usage["parse_failures"]) == (7, 2, 2, 0)


def test_the_steps_are_told_with_the_ids_of_the_tree() -> None:
    events: list[tuple[str, Any]] = [(each["event"], each["data"]) for each in run(one_answer()).events]
    grown = [[node["id"] for node in data["nodes"]] for event, data in events if event == "grown"]
    assert grown == [["0.1", "0.2", "0.3"], ["0.1.1", "0.1.2"]]
    pruned = [data["nodes"] for event, data in events if event == "pruned"]
    assert pruned == [
        [
            {
                "id": "0.1.3",
                "parent": "0.1",
                "passage_ids": ["critic"],
                "titles": ["critic"],
                "why": "in the evidence pool",
            }
        ]
    ]
    reviewed = {data["id"]: (data["parent"], data["verdict"]) for event, data in events if event == "reviewed"}
    assert reviewed["0.1"] == ("0", "search")
    assert reviewed["0.1.1"] == ("0.1", "accept")
    expanded = [(data["id"], data["query"], data["written_by"]) for event, data in events if event == "expanded"]
    assert expanded == [("0.1", "about film", "call")]
    fusions = [data for event, data in events if event == "fused"]
    assert [(data["mode"], [piece["id"] for piece in data["pieces"]]) for data in fusions] == [
        ("evidence", ["0.1.1", "0.3"])
    ]


def test_the_first_level_has_width_five_and_the_others_three() -> None:
    letters = "abcdefgh"
    said = script({}, otherwise=search("next"), complete=[completed("next")] * 20, answer_step_by_step=[read("x", 1)])
    ran = run(said, retriever=world(otherwise=" ".join(letters)), prune_repetitive=False)
    depths = Counter(node["depth"] for node in ran.state["tree"].values())
    assert depths == {0: 1, 1: 5, 2: 15, 3: 45}
    assert said.steps.count("review") == 65
    assert said.steps.count("complete") == 20
    assert ran.result["stop_reason"] == "max_depth"
    said = script({}, search("next"), answer_step_by_step=[read("x")])
    ran = run(said, widths=(2, 1), max_depth=4, prune_repetitive=False)
    assert Counter(node["depth"] for node in ran.state["tree"].values()) == {0: 1, 1: 2, 2: 2, 3: 2, 4: 2}


def test_widths_are_written_as_the_paper_does(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = [parse_setting(tree_of_reviews.Context, "widths", text) for text in ("10,5,3", "[10, 5, 3]")]
    for given in (*widths, [10, 5, 3]):
        assert make_settings(tree_of_reviews.Context, {"widths": given}).widths == (10, 5, 3)
    for wrong in ("", "5,x", "0", [1001], []):
        with pytest.raises(SettingsError, match="'widths'"):
            make_settings(tree_of_reviews.Context, {"widths": wrong})
    with pytest.raises(SettingsError, match=r"^widths 1000 with max_depth 2 make a tree of up to 1,001,000"):
        make_settings(tree_of_reviews.Context, {"widths": [1000], "max_depth": 2})
    monkeypatch.setenv("HOPGRAPH_WIDTHS", "1")
    monkeypatch.setenv("HOPGRAPH_MAX_DEPTH", "1")
    ran = run(script({"film": accept("x")}, fuse=[fused("x", 1)]))
    assert len(ran.state["tree"]) == 2
    assert ran.state["settings"]["widths"] == [1]


def test_pruning_saves_calls_as_in_table_5() -> None:
    """Both prunings < no repetitive pruning, no relevance pruning < neither, on the same answers."""

    def calls(**switches: bool) -> int:
        said = script(REVIEWS, otherwise=reject(), fuse=[fused("Tallinn", 1)])
        return run(said, **switches).result["usage"]["llm_calls"]

    # 3 + (1 + 2) + 1; one more child below film; below harbour and film ships 1 + 3 and 1 + 2 or 3 more …
    both, no_repetitive = calls(), calls(prune_repetitive=False)
    no_relevance = calls(prune_relevance=False)
    neither = calls(prune_repetitive=False, prune_relevance=False)
    assert (both, no_repetitive) == (7, 8)
    assert both < no_repetitive < no_relevance < neither
    assert neither > no_relevance > both


@pytest.mark.parametrize(
    ("expansion", "steps", "queries"),
    [
        ("mpc", {"review": 5, "complete": 1, "fuse": 1}, ["about film"]),
        ("cot", {"review": 5, "fuse": 1}, ["the birthplace of Ada Brink"]),
        ("direct", {"review_directly": 5, "fuse": 1}, ["the birthplace of Ada Brink"]),
    ],
)
def test_three_ways_to_write_the_next_query(expansion: str, steps: dict[str, int], queries: list[str]) -> None:
    said = one_answer()
    found = world(
        **{"about film": "person ships critic", "birthplace": "person ships critic", "otherwise": "film harbour critic"}
    )
    ran = run(said, expansion=expansion, retriever=found)
    assert Counter(said.steps) == steps
    assert ran.state["asked"][1:] == queries
    assert ran.result["answer"] == "Tallinn"


def test_a_model_that_cannot_complete_leaves_the_reviews_query() -> None:
    said = script(REVIEWS, reject(), complete=[completed("I don't know.")], fuse=[fused("Tallinn", 1)])
    found = world(birthplace="person", otherwise="film critic")
    ran = run(said, retriever=found)
    assert ran.state["asked"][1:] == ["the birthplace of Ada Brink"]
    assert next(each["data"]["written_by"] for each in ran.events if each["event"] == "expanded") == "review"


@pytest.mark.parametrize(
    ("fusion", "step", "blocks"),
    [
        ("evidence", "fuse", {"assertions", "passages"}),
        ("analysis", "fuse", {"assertions"}),
        ("paragraph", "answer_step_by_step", {"passages"}),
    ],
)
def test_three_ways_to_fuse(fusion: str, step: str, blocks: set[str]) -> None:
    said = script(REVIEWS, fuse=[fused("Tallinn", 2)], answer_step_by_step=[read("Tallinn", 3)])
    ran = run(said, fusion=fusion)
    assert said.steps[-1] == step
    prompt = said.prompts[-1]
    assert {name for name in ("assertions", "passages") if f"<{name}>" in prompt} == blocks
    if fusion == "evidence":
        assert "So the answer is: Tallinn. [passages 1, 2]" in prompt
        assert "is of Tallinn. [passages 3]" in prompt
    assert [each["passage_id"] for each in ran.result["citations"]] == ["critic"]


def test_the_reader_sees_evidence_up_to_its_tokens() -> None:
    said = script(REVIEWS, fuse=[fused("Tallinn", 1)])
    ran = run(said, reader_tokens=60)
    assert titles_in(said.prompts[-1]) == "film person"
    told: Any = next(each["data"] for each in ran.events if each["event"] == "fused")
    assert ([piece["id"] for piece in told["pieces"]], told["left_out"]) == (["0.1.1"], ["0.3"])


def test_an_empty_pool_leaves_the_relevant_paragraphs() -> None:
    said = script({"film": search("x"), "film person": search("y")}, reject(), answer_step_by_step=[read("Tallinn", 2)])
    ran = run(said)
    assert titles_in(said.prompts[-1]) == "film person"
    assert [each["passage_id"] for each in ran.result["citations"]] == ["person"]
    assert ran.result["answer"] == "Tallinn"


def test_where_nothing_is_relevant_a_reader_has_all_that_was_retrieved() -> None:
    said = script({}, reject(), answer_step_by_step=[read("Tallinn", 3)])
    ran = run(said)
    assert said.steps == ["review"] * 3 + ["answer_step_by_step"]
    assert titles_in(said.prompts[-1]) == "film harbour critic"
    assert (ran.result["answer"], ran.result["stop_reason"]) == ("Tallinn", "answered")
    ran = run(script({}, reject()))
    assert (ran.result["answer"], ran.result["stop_reason"], ran.result["citations"]) == ("", "unanswerable", [])


def test_where_nothing_was_retrieved_own_knowledge_answers_unless_a_run_may_abstain() -> None:
    nothing = world(otherwise="")
    said = script({}, answer_step_by_step=[read("Tallinn")])
    ran = run(said, retriever=nothing, abstain=False)
    assert (said.steps, ran.result["answer"]) == (["answer_step_by_step"], "Tallinn")
    assert [citation["kind"] for citation in ran.result["citations"]] == ["model"]
    ran = run(said := script({}), retriever=nothing)
    assert (said.steps, ran.result["stop_reason"]) == ([], "unanswerable")


def test_depth_search_is_the_papers_order_and_sees_new_evidence_at_once() -> None:
    reviews = {
        "film": search("x"),
        "film person": accept("Tallinn"),
        "film ships": reject(),
        "critic": search("y"),
    }
    found = world(**{"about film": "person ships", "about critic": "person night", "otherwise": "film critic"})
    ran = run(said := script(reviews, reject(), fuse=[fused("Tallinn", 1)]), retriever=found, search="depth")
    assert said.steps == ["review", "complete", "review", "review", "review", "complete", "review", "fuse"]
    assert [titles_in(prompt) for prompt in said.prompts][:4] == ["film", "film", "film person", "film ships"]
    assert ran.state["tree"]["0.2.1"]["why"] == "in the evidence pool"
    # In a breadth search the pool is that of the level above, and the paragraph is reviewed.
    ran = run(script(reviews, reject(), fuse=[fused("Tallinn", 1)]), retriever=found)
    assert ran.state["tree"]["0.2.1"]["verdict"] == "reject"


def test_more_than_fifteen_paragraphs_are_ranked_by_the_answer() -> None:
    found = world(otherwise=" ".join([*(f"p{number}" for number in range(20)), "critic", "film"]))
    said = script(
        {"critic": accept("Tallinn", "Of Tallinn."), "film": accept("Oslo")}, reject(), fuse=[fused("Tallinn", 1)]
    )
    ran = run(said, retriever=found, widths=(22,))
    ranked = [passage["id"] for passage in ran.result["passages"]]
    assert ranked == ["critic", "film", *(f"p{number}" for number in range(13))]
    said = script({"critic": accept("Tallinn")}, reject(), fuse=[fused("Tallinn", 1)])
    assert len(run(said, retriever=found, widths=(22,), recall_passages=22).result["passages"]) == 22


def test_yes_no() -> None:
    said = script({"film": accept("Yes, it is")}, reject(), fuse=[fused("No.", 1)])
    ran = run(said, answer_type="yes_no")
    assert ran.state["tree"]["0.1"]["answer"] == "yes"
    assert ran.result["answer"] == "no"
    assert all("yes_no" in prompt for prompt in said.prompts)


def test_the_preset_is_the_papers_and_shows_three_demonstrations() -> None:
    seen: list[tuple[str, int]] = []
    said = one_answer()

    def reply(role: str, messages: Any) -> str:
        seen.append((role.split("/")[1], [message.type for message in messages].count("ai")))
        return said(role, messages)

    model = ScriptedChatModel(replies=reply)
    preset = tree_of_reviews.Context.preset("multi_hop", model=model, retriever=two_levels(), widths=[3])
    tree_of_reviews.graph.invoke({"question": QUESTION}, context=preset)
    assert (preset.search, preset.expansion, preset.fusion, preset.max_depth) == ("depth", "mpc", "evidence", 3)
    assert dict(seen) == {"review": 3, "complete": 3, "fuse": 3}


def test_demonstrations_look_like_what_is_asked() -> None:
    prompts: list[list[str]] = []
    said = one_answer()

    def reply(role: str, messages: Any) -> str:
        prompts.append([message.text for message in messages])
        return said(role, messages)

    model = ScriptedChatModel(replies=reply)
    run(said, model=model, demonstrations="multi_hop", fusion="analysis")
    assert not any("<passage" in text for text in prompts[-1][1:])
    for text in (text for prompt in prompts for text in prompt[2:-1:2]):
        assert isinstance(json.loads(text), dict)


def test_every_edge_of_the_drawing_is_walked() -> None:
    nothing = world(otherwise="")
    ran = [
        run(one_answer()),
        run(one_answer(), search="depth"),
        run(script({}, reject())),
        run(script({}, reject()), retriever=nothing),
        run(script({"film": search("x")}, reject(), answer_step_by_step=[read("x", 1)])),
    ]
    assert set[Any]().union(*(each.edges for each in ran)) == drawn_edges(tree_of_reviews.graph)


def test_the_papers_words_are_read_as_judgements() -> None:
    said = script(
        {
            "film": '{"relevant": "[RELEVANT]", "enough": "[UNSUPPORTED]", "query": "x"}',
            "harbour": '{"relevant": "[IRRELEVANT]", "enough": "[SUPPORTED]"}',
            "critic": '{"relevant": "RELEVANT", "enough": "SUPPORTED", "answer": "Tallinn"}',
            "film person": accept("Tallinn"),
        },
        reject(),
        fuse=[fused("Tallinn", 1)],
    )
    verdicts = [node["verdict"] for node in run(said).state["tree"].values() if node["depth"] == 1]
    assert verdicts == ["search", "reject", "accept"]


def test_review_by_path_is_of_all_paragraphs_on_it() -> None:
    said = script(REVIEWS, fuse=[fused("Tallinn", 1)])
    run(said)
    deep = next(prompt for prompt in said.prompts if titles_in(prompt) == "film person")
    assert re.search(r"It was directed by Ada Brink.*She was born in Tallinn", deep, re.DOTALL)
    assert by_path({"film": "x"})(said.prompts[0]) == "x"
