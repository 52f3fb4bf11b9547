"""Valid and invalid specs of the rehearsal model."""

from pathlib import Path

import pytest

from hopgraph.state import CorpusError, SpecError
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import parse_rehearsal
from hopgraph.tools.models.resolve import Sampling, resolve_model


def test_options_are_read() -> None:
    dataset, options = parse_rehearsal(
        "a/b.json?error=0.25&parse_failure=1&knowledge=0&latency=2&rename=7&seed=-7&obey=strict&reads=loose"
    )
    assert dataset == "a/b.json"
    rates = {"error": 0.25, "parse_failure": 1, "knowledge": 0}
    others = {"latency": 2, "rename": 7, "seed": -7, "obey": "strict", "reads": "loose"}
    assert options.model_dump() == {**rates, **others}


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("", "lacks a data set"),
        ("?error=0.1", "lacks a data set"),
        ("x.json?error=1.1", "option error: Input should be"),
        ("x.json?error=nan", "option error: Input should be"),
        ("x.json?latency=-1", "option latency: Input should be"),
        ("x.json?latency=inf", "option latency: Input should be"),
        ("x.json?seed=1.5", "option seed: Input should be"),
        ("x.json?rename=-1", "option rename: Input should be"),
        ("x.json?error=", "option error: Input should be"),
        ("x.json?eror=0.1", "is unknown; did you mean 'error'?"),
    ],
)
def test_bad_options_are_reported(rest: str, told: str) -> None:
    with pytest.raises(SpecError, match="rehearsal") as caught:
        parse_rehearsal(rest)
    assert told in str(caught.value)


async def test_a_missing_data_set_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nothing\.json"):
        await resolve_model(f"rehearsal:{tmp_path}/nothing.json", Sampling())
