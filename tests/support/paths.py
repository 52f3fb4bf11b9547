"""Paths of the repository and its sample data set."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tools" / "retrieval" / "sample"
