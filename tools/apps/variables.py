"""The environment variables that are read beside those of settings, and a check for misspelt ones."""

import os

from hopgraph.graphs.registry import list_methods
from hopgraph.state import SettingsError
from hopgraph.state.chat import ChatContext
from hopgraph.state.errors import misspelling_of
from hopgraph.state.renamed import RENAMED

OTHER_VARIABLES = """
api_key audit_log bytes_per_day calls_per_day device document_bytes document_files documents documents_of dtype
elasticsearch_api_key entailment_api_key hosts keep_days log_questions milvus_token oidc_audience oidc_claim
oidc_issuer oidc_keys origins proxies questions_per_minute reranker_api_key streams_per_address thread_bytes threads
threads_per_user trust_callers user_header user_of
"""
"""The variables `HOPGRAPH_<NAME>` that are not settings of a method, in lower case."""


def refuse_misspelt_variables() -> None:
    """Refuse a variable `HOPGRAPH_…` that nothing reads and that resembles one that is read, as a SettingsError."""
    given = {name.removeprefix("HOPGRAPH_").lower() for name in os.environ if name.startswith("HOPGRAPH_")}
    known = {*OTHER_VARIABLES.split(), *ChatContext.model_fields}
    if given <= known:
        return
    known |= {name for method in list_methods().values() for name in method.Context.model_fields}
    for name in sorted(given - known - RENAMED.keys()):  # settings name renamed ones
        if meant := misspelling_of(name, known):
            raise SettingsError(
                f"environment variable HOPGRAPH_{name.upper()} is not read; did you mean HOPGRAPH_{meant.upper()}?"
            )
