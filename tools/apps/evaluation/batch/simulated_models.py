"""Models that only simulate a language model: their scores say something about methods, nothing about models."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.tools.apps.evaluation.batch.run_manifest import RunManifest
from hopgraph.tools.io.redact import redact

SIMULATED_MODELS = {"offline:": "offline", "rehearsal:": "rehearsal", "openai:rehearsal-": "rehearsal"}
"""How their specs begin, and their kinds; the last is what `hopgraph rehearse` serves."""


def describe_simulated(manifest: RunManifest) -> str:
    """Describe the simulated models of a run; empty where there are none."""
    return describe_simulated_models(model for settings in manifest.methods.values() for model in models_in(settings))


def models_in(settings: Mapping[str, JsonValue]) -> list[str]:
    """List the models of a method's settings as a manifest has them: of the method, and of single roles."""
    roles = settings.get("models")
    return [str(settings.get("model") or DEFAULT_MODEL), *(map(str, roles.values()) if isinstance(roles, dict) else [])]


def describe_simulated_models(models: Iterable[str]) -> str:
    """Describe which of these models only simulate a language model; empty where none does."""
    names = sorted({redact(name) for name in models if name.startswith(tuple(SIMULATED_MODELS))})
    many = "none of which is a language model" if len(names) > 1 else "which is no language model"
    return f"answered by {', '.join(names)}, {many}" if names else ""


def simulated_kinds(models: Iterable[str]) -> list[str]:
    """Return the kinds of simulated models among these, in alphabetical order."""
    return sorted({kind for name in models for start, kind in SIMULATED_MODELS.items() if name.startswith(start)})
