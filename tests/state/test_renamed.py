"""A setting's earlier name is refused with the name that it has now, wherever a setting is given."""

import pytest

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SettingsError
from hopgraph.state.environment import resolve_settings, settings_from
from hopgraph.state.renamed import RENAMED, with_current_names


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_the_earlier_name_is_refused_with_the_new_one(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = [each.Context for each in METHODS.values() if new in each.Context.model_fields]
    assert readers
    for cls in readers:
        assert old not in cls.model_fields
        with pytest.raises(SettingsError, match=f"'{old}' .*now called '{new}'"):
            cls(**{old: 3})
        with pytest.raises(SettingsError, match=f"now called '{new}'"):
            settings_from(cls, {old: 3})
    monkeypatch.setenv(f"HOPGRAPH_{old.upper()}", "3")
    with pytest.raises(SettingsError, match=f"HOPGRAPH_{old.upper()} .*HOPGRAPH_{new.upper()}$"):
        resolve_settings(None, readers[0])


def test_what_was_stored_under_an_earlier_name_is_read() -> None:
    assert with_current_names({"passages_per_query": 3, "model": "x"}) == {"top_k": 3, "model": "x"}
    assert Context.model_fields.keys() >= {"max_output_tokens"}
