"""The first line of a run: its method, its model and its corpus."""

from hopgraph.state import Context
from hopgraph.state.context import DEFAULT_MODEL, DEFAULT_RETRIEVER
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models import model_name
from hopgraph.tools.resources import describe_settings
from hopgraph.tools.text.sanitize import sanitize_line


def run_header(title: str, settings: Context) -> tuple[str, str]:
    """Return the first line, and a note if the model is the embedded one; else an empty note."""
    model, corpus = (sanitize_line(redact(name)) for name in describe_settings(settings))
    more = [f"{sanitize_line(role)}: {sanitize_line(model_name(given))}" for role, given in settings.models.items()]
    second = settings.second_retriever
    name = second if isinstance(second, str) else type(second).__name__
    corpora = [corpus, *([sanitize_line(redact(name))] if second else [])]
    about = " (bundled sample)" if corpora == [DEFAULT_RETRIEVER] else ""
    line = f"{title} · model {', '.join([model, *more])} · corpus {' + '.join(corpora)}{about}"
    stand_in = f"{model} is the embedded stand-in: no language model, only fixed rules that extract text."
    return line, stand_in if model == DEFAULT_MODEL else ""
