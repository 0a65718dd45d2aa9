"""python -m smfleet import neptune: what neptune-exporter wrote becomes jobs. It is not on PyPI: files are written with pyarrow, by the columns, types and
order that its ParquetWriter and its exporters of Neptune 2 and 3 have (storage/parquet_writer.py, exporters/neptune3.py)."""

import csv
import datetime
import decimal
import io
import math
import os
import signal
import subprocess
import sys

import pytest

from fixtures import emptied_server as server  # noqa: F401
from howlong import long
from smserver import ROOT, quote, wait_until

PARQUET = ROOT / ".cache/neptune"
T0 = datetime.datetime(2025, 3, 1, 12, 0, 0, 250000, tzinfo=datetime.timezone.utc)
ROWS = 2_500


def import_neptune(server, *arguments, path=PARQUET, **options):
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("SMFLEET_", "PYTHON"))}
    command = ["/usr/bin/python3", "-m", "smfleet", "import", *map(str, arguments), "--server", server.url]
    environment = {**mine, "PYTHONPATH": os.pathsep.join([str(ROOT / "clients"), *([str(path)] if path else [])])}
    if options:
        return subprocess.Popen(command, env=environment, **options)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def schema(pyarrow):
    time = pyarrow.timestamp("ms", tz="UTC")
    return pyarrow.schema([("project_id", pyarrow.string()), ("run_id", pyarrow.string()), ("attribute_path", pyarrow.string()), ("attribute_type", pyarrow.string()),
        ("step", pyarrow.decimal128(18, 6)), ("timestamp", time), ("int_value", pyarrow.int64()), ("float_value", pyarrow.float64()), ("string_value", pyarrow.string()),
        ("bool_value", pyarrow.bool_()), ("datetime_value", time), ("string_set_value", pyarrow.list_(pyarrow.string())),
        ("file_value", pyarrow.struct([("path", pyarrow.string())])),
        ("histogram_value", pyarrow.struct([("type", pyarrow.string()), ("edges", pyarrow.list_(pyarrow.float64())), ("values", pyarrow.list_(pyarrow.float64()))]))])


def row(run, path, kind, value, step=None, at=None, project="lab/demo"):
    column = {"float_series": "float_value", "string_series": "string_value", "histogram_series": "histogram_value", "file_series": "file_value"}.get(kind, f"{kind}_value")
    return {"project_id": project, "run_id": run, "attribute_path": path, "attribute_type": kind, column: value,
        "step": None if step is None else decimal.Decimal(str(step)).quantize(decimal.Decimal("1.000000")), "timestamp": at}


def at(seconds):
    return T0 + datetime.timedelta(seconds=seconds)


def about(run, failed=False, state="inactive", **more):
    """As _PARAMETER_TYPES come, all runs' of a batch together."""
    rows = [row(run, "sys/custom_run_id", "string", run), row(run, "sys/name", "string", f"name of {run}"), row(run, "sys/owner", "string", "ada"), row(run, "sys/creation_time", "datetime", at(-10)),
        row(run, "sys/modification_time", "datetime", at(10 ** 6)), row(run, "sys/failed", "bool", failed), row(run, "sys/state", "string", state), row(run, "sys/tags", "string_set", ["b", "a"]),
        row(run, "config/lr", "float", 3e-4), row(run, "config/layers", "int", 12), row(run, "config/amp", "bool", True), row(run, "config/optimizer/name", "string", "adamw"),
        row(run, "config/began", "datetime", at(0))]
    return rows + [row(run, path, *value) for path, value in more.items()]


def series(run, metric, steps, value, seconds=lambda n: n / 2):
    return [row(run, metric, "float_series", value(n), step, at(seconds(n))) for n, step in enumerate(steps)]


def losses(n):
    return 4 / (n + 1)


def write(folder, batches, project="lab_demo-0123456789abcdef"):
    """Parts as its ParquetWriter writes them: snappy, batch behind batch."""
    sys.path.insert(0, str(PARQUET))
    try:
        import pyarrow
        import pyarrow.parquet
    finally:
        sys.path.remove(str(PARQUET))
    (folder / project).mkdir(parents=True, exist_ok=True)
    for part, rows in enumerate(batches):
        with pyarrow.parquet.ParquetWriter(folder / project / f"part_{part}.parquet", schema(pyarrow), compression="snappy") as writer:
            for batch in rows:
                writer.write_batch(pyarrow.RecordBatch.from_pylist(batch, schema=schema(pyarrow)))


def points(server, job, metric):
    text = server.get(f"/api/v1/jobs/{quote(job)}/points?metric={quote(metric)}&raw=true&format=csv").body
    return [(int(one["step"]), int(one["ts_ms"]), float(one["value"])) for one in csv.DictReader(io.StringIO(text))]


def expected(steps, value, multiplier=1):
    return [(int(round(step * multiplier)), round(at(n / 2).timestamp() * 1000), value(n)) for n, step in enumerate(steps)]


def test_what_it_needs_is_said(server, tmp_path):
    (tmp_path / "part_0.parquet").write_bytes(b"PAR1")
    without = import_neptune(server, "neptune", tmp_path, path=None)
    assert without.returncode == 2 and "reading Parquet needs pyarrow: pip install pyarrow" in without.stderr, without.stderr
    assert import_neptune(server, "neptune").returncode == 2 and import_neptune(server, "comet", tmp_path).returncode == 2


@long
def test_two_projects_are_here_as_they_were(server, tmp_path):
    """Two axes of steps (one of each step, one of each hundredth), a run with fractions of steps, values that are no numbers; what is left out is listed."""
    odd = {3: math.inf, 5: -math.inf, 7: math.nan}
    steps, epochs, halves = range(ROWS), range(0, ROWS, 100), [n / 4 for n in range(50)]
    write(tmp_path, [[about("gpt-7") + about("gpt-8", failed=True), series("gpt-7", "train/loss", steps, losses) + series("gpt-8", "train/loss", halves, losses),
            series("gpt-7", "eval/acc", epochs, lambda n: odd.get(n, n / 100)), [row("gpt-7", "train/loss", "float_series", None, 9999, at(1)), row("gpt-7", "old", "float_series", 1.0, 1, datetime.datetime(1980, 1, 1, tzinfo=datetime.timezone.utc))]],
        [about("live", state="active", note=("string", "x" * 7000)), series("live", "train/loss", range(5), losses) + series("gpt-7", "train/loss", range(ROWS, ROWS + 3), lambda n: -n, lambda n: ROWS / 2 + n),
            [row("gpt-7", "hist", "histogram_series", {"type": "COUNTING", "edges": [0.0, 1.0], "values": [2.0]}, 1, at(1)), row("gpt-7", "monitoring/stdout", "string_series", "a line", 1, at(1)),
                row("gpt-7", "model", "file", {"path": "a/b"}), row("gpt-8", "model", "file", {"path": "a/c"})]]])
    write(tmp_path, [[[row("gpt-7", "config/lr", "float", 1.5, project="lab/other")], [dict(one, project_id="lab/other") for one in series("gpt-7", "loss", range(3), losses)]]], "lab_other-00")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    moved = import_neptune(server, "neptune", tmp_path)
    assert moved.returncode == 4 and "cannot read" in moved.stderr and "broken.parquet" in moved.stderr, moved.stderr
    (tmp_path / "broken.parquet").unlink()
    assert f"4 runs of '{tmp_path}' are jobs; {ROWS + 3 + 50 + len(epochs) + 5 + 3} points are new" in moved.stderr, moved.stderr
    assert "1 of the runs have not ended" in moved.stderr
    assert "not moved: 2 attributes of type file; 1 attributes of type histogram_series; 1 attributes of type string_series; 1 values whose name or text is too long; 2 points" in moved.stderr, moved.stderr
    server.wait_for_extraction()
    assert points(server, "lab/demo/gpt-7", "train/loss") == expected(steps, losses) + [(ROWS + n, round(at(ROWS / 2 + n).timestamp() * 1000), float(-n)) for n in range(3)]
    assert list(map(repr, points(server, "lab/demo/gpt-7", "eval/acc"))) == list(map(repr, expected(epochs, lambda n: odd.get(n, n / 100))))
    assert points(server, "lab/demo/gpt-8", "train/loss") == expected(halves, losses, 100)
    job = server.get("/api/v1/jobs/lab%2Fdemo%2Fgpt-7").body
    assert (job["TrainingJobStatus"], job["TrainingStartTime"]) == ("Completed", at(-10).timestamp()) and job["TrainingEndTime"] == at(ROWS / 2 + 2).timestamp()
    assert job["HyperParameters"] == {"config/lr": "0.0003", "config/layers": "12", "config/amp": "true", "config/optimizer/name": "adamw", "config/began": "2025-03-01T12:00:00.250Z"}
    tags = {tag["Key"]: tag["Value"] for tag in job["Tags"]}
    assert (tags["neptune.run_id"], tags["neptune.project"], tags["neptune.sys/name"], tags["neptune.sys/tags"]) == ("gpt-7", "lab/demo", "name of gpt-7", "a, b") and "ada" in tags.values()
    other = server.get("/api/v1/jobs/lab%2Fdemo%2Fgpt-8").body
    assert other["TrainingJobStatus"] == "Failed" and {tag["Key"]: tag["Value"] for tag in other["Tags"]}["neptune.step_multiplier"] == "100"
    assert server.get("/api/v1/jobs/lab%2Fdemo%2Flive").body["TrainingJobStatus"] == "InProgress"
    assert server.get("/api/v1/jobs/lab%2Fother%2Fgpt-7").body["HyperParameters"] == {"config/lr": "1.5"}
    again = import_neptune(server, "neptune", tmp_path)
    assert again.returncode == 0 and "4 runs" in again.stderr and "; 0 points are new" in again.stderr, again.stderr
    server.wait_for_extraction()
    assert len(points(server, "lab/demo/gpt-7", "train/loss")) == ROWS + 3 and len(server.get("/api/v1/jobs").body["jobs"]) == 4
    assert server.get("/api/v1/jobs/lab%2Fdemo%2Fgpt-7").body["TrainingEndTime"] == job["TrainingEndTime"]


@long
def test_killed_in_the_middle_it_goes_on(server, tmp_path):
    """kill -9 once some points are here; what is started again sends the rest, and a later export of the run what came since."""
    write(tmp_path, [[about("long"), *(series("long", f"m{n}", range(ROWS), lambda k: k + n) for n in range(8))]])
    first = import_neptune(server, "neptune", tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: b'"m2"' in server.get("/api/v1/jobs/lab%2Fdemo%2Flong/metrics").raw, what="some points")
    first.send_signal(signal.SIGKILL)
    assert first.wait(60) == -signal.SIGKILL
    again = import_neptune(server, "neptune", tmp_path)
    assert again.returncode == 0 and "1 runs" in again.stderr, again.stderr
    new = int(again.stderr.split("; ")[1].split()[0])
    assert 0 < new < 8 * ROWS, "some were there"
    server.wait_for_extraction()
    for n in range(8):
        assert points(server, "lab/demo/long", f"m{n}") == expected(range(ROWS), lambda k: k + n)
    write(tmp_path, [[about("long"), series("long", "m0", range(ROWS + 10), lambda k: k)]])
    assert "; 10 points are new" in import_neptune(server, "neptune", tmp_path).stderr
    server.stop()
    away = import_neptune(server, "neptune", tmp_path)
    server.start(f"127.0.0.1:{server.port}")
    assert away.returncode == 3 and "start it again" in away.stderr
