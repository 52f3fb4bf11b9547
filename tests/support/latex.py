"""Compiled LaTeX, read from its PDF."""

import shutil
import subprocess
from pathlib import Path

import pytest


def compiled_text(tables: Path) -> str:
    """Return the printed text of a compiled file of tables, without white space; skip without a compiler."""
    import pypdfium2

    compiler = shutil.which("tectonic") or shutil.which("pdflatex")
    if compiler is None:
        pytest.skip("neither tectonic nor pdflatex is installed (Debian: texlive-latex-base)")
    paper = tables.with_name("paper.tex")
    paper.write_text(
        rf"\documentclass{{article}}\begin{{document}}\input{{{tables.name}}}\end{{document}}", encoding="utf-8"
    )
    quiet = ["-halt-on-error", "-interaction=nonstopmode"] if "pdflatex" in compiler else []
    done = subprocess.run([compiler, *quiet, paper.name], cwd=paper.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    with pypdfium2.PdfDocument(paper.with_suffix(".pdf")) as document:
        return "".join("".join(page.get_textpage().get_text_bounded().split()) for page in document)
