"""Where the repository and its sample data set are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tools" / "retrieval" / "sample"
