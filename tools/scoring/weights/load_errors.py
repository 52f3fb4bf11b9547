"""Why a model does not load, in one line."""

from collections.abc import Generator
from contextlib import contextmanager
from pickle import UnpicklingError

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require

_LONGEST = 240
_OF_FILES = (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError, ImportError)
"""What transformers and torch raise about files that are missing, damaged or of another kind."""


@contextmanager
def loading(spec: str, folder: str) -> Generator[None]:
    """Turn whatever a library raises about a model's files into one line that names spec and folder.

    Progress bars of transformers are off meanwhile: reading files from a disk takes seconds.

    Raises:
        SpecError: the files are missing or damaged, or ask for code of their own.
    """
    progress = require("transformers").utils.logging
    shown = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()
    try:
        yield
    except SpecError:
        raise
    except UnpicklingError:
        raise SpecError(
            f"{spec!r}: the weights in {folder} are a pickle that holds more than tensors, which is never loaded; "
            "use a copy of the model with .safetensors files"
        ) from None
    except (*_OF_FILES, require("safetensors").SafetensorError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        if "trust_remote_code" in said:
            said = "it needs code of its own (trust_remote_code), which is never run"
        raise SpecError(f"{spec!r}: the model in {folder} cannot be loaded: {said[:_LONGEST]}") from None
    finally:
        if shown:
            progress.enable_progress_bar()
