"""`hopgraph export`: export a run's answers and scores to other tools."""

import json

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.console import console_on, print_line
from hopgraph.tools.apps.cli.evaluation.evaluation_options import ExportOptions
from hopgraph.tools.apps.evaluation import export
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.cost_estimate import read_prices
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.text.sanitize import pluralize

_FILES = {"csv": export.write_csv, "parquet": export.write_parquet}
_TRACKERS = {"wandb": export.log_to_wandb, "mlflow": export.log_to_mlflow}


def run_export(options: ExportOptions) -> None:
    """Write the file and its schema, or log to the tracker."""
    reader, out = RunReader(options.run.expanduser()), options.out and options.out.expanduser()
    rows = export.answer_rows(reader, read_prices(options.prices))
    if tracker := _TRACKERS.get(options.to):
        tracker(reader, rows, out, options.project)
        place = str(out) if out else f"the project {options.project}"
    else:
        if out is None:
            raise SettingsError(f"--to {options.to} needs --out FILE")
        _FILES[options.to](rows, out)
        schema = out.with_name(f"{out.name}.schema.json")
        write_files({schema: f"{json.dumps(export.describe_columns(rows), indent=1)}\n".encode("ascii")})
        place = f"{out}, {schema}"
    print_line(console_on(), f"Written: {pluralize(len(rows), 'answer')} to {place}", "dim")
