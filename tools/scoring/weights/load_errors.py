"""One-line errors for models that cannot be loaded."""

from collections.abc import Generator
from contextlib import contextmanager
from pickle import UnpicklingError

from hopgraph.state import SpecError
from hopgraph.tools.io.optional_packages import require

_LONGEST = 240
_FILE_ERRORS = (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError, ImportError)
"""What transformers and torch raise about files that are missing, damaged or of another kind."""


@contextmanager
def loading(spec: str, folder: str) -> Generator[None]:
    """Turn any error of a library about a model's files into one line that names spec and folder.

    Meanwhile transformers shows neither progress bars nor advice to programmers.

    Raises:
        SpecError: the files are missing or damaged, or ask for code of their own.
    """
    output = require("transformers").utils.logging
    progress, verbosity = output.is_progress_bar_enabled(), output.get_verbosity()
    output.disable_progress_bar()
    output.set_verbosity_error()
    try:
        yield
    except SpecError:
        raise
    except UnpicklingError:
        raise SpecError(
            f"{spec!r}: the weights in {folder} are a pickle that holds more than tensors, which is never loaded; "
            "use a copy of the model with .safetensors files"
        ) from None
    except (*_FILE_ERRORS, require("safetensors").SafetensorError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if "trust_remote_code" in reason:
            reason = "it needs code of its own (trust_remote_code), which is never run"
        raise SpecError(f"{spec!r}: the model in {folder} cannot be loaded: {reason[:_LONGEST]}") from None
    finally:
        output.set_verbosity(verbosity)
        if progress:
            output.enable_progress_bar()
