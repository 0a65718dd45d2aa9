"""
python -m smfleet import neptune FOLDER: runs that neptune-exporter wrote as Parquet become jobs. They are told to the server by its MLflow door,
under ids that follow from their project and id, so that what is there already is found, and a point is stored once.
"""

import datetime
import hashlib
import json
import os
import sys
import urllib.parse
from decimal import Decimal
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from ._wandb import Door, RunError, WandbError

CALLS = "/api/2.0/mlflow/"
BATCH_POINTS = 1000
BATCH_TEXTS = 100
BATCH_ROWS = 1 << 16
PAGE_POINTS = 25000
KEY_BYTES, PARAM_BYTES, TAG_BYTES, NAME_BYTES = 250, 6000, 8000, 200
EARLIEST_MS = 631152000000  # 1990
STEP_LIMIT = 1 << 53
MOST_DIGITS = 6  # of a step, behind the point
SINGLE = {"float": "float_value", "int": "int_value", "string": "string_value", "bool": "bool_value", "datetime": "datetime_value", "string_set": "string_set_value"}
COLUMNS = ["project_id", "run_id", "attribute_path", "attribute_type"]
Point = Tuple[int, int, Optional[float]]  # milliseconds, step, value; None: NaN


def say(text: str) -> None:
    sys.stderr.write("smfleet: {}\n".format(text))


class Run:
    def __init__(self, project: str, name: str) -> None:
        self.project, self.name = project, name
        self.id = hashlib.sha256("{}\n{}".format(project, name).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.attributes: Dict[str, Any] = {}
        self.places: List[Tuple[str, int]] = []  # files and their row groups with its points
        self.digits = 0  # of its steps behind the point
        self.last_ms = 0

    def get(self, path: str) -> Any:
        return self.attributes.get(path)


class Left:
    """What is not moved."""

    def __init__(self) -> None:
        self.series: Dict[str, Set[Tuple[str, str, str]]] = {}
        self.texts = self.points = 0

    def say(self) -> None:
        parts = ["{} attributes of type {}".format(len(paths), kind) for kind, paths in sorted(self.series.items())]
        if self.texts:
            parts.append("{} values whose name or text is too long".format(self.texts))
        if self.points:
            parts.append("{} points without a value or a step, of before 1990, or with steps beyond 2^53".format(self.points))
        if parts:
            say("not moved: " + "; ".join(parts))


# ---- what is read ----

def find_files(folder: str) -> List[str]:
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.join(place, name) for name in names if name.endswith(".parquet")]
    return sorted(found)


def milliseconds(column: Any) -> List[Optional[int]]:
    """Of times of whatever unit, with a zone or without (they are UTC)."""
    import pyarrow
    kind = column.type
    if not pyarrow.types.is_timestamp(kind):
        return [None] * len(column)
    return list(column.cast(pyarrow.timestamp("ms", kind.tz), safe=False).cast(pyarrow.int64()).to_pylist())


def digits_of(step: Any) -> int:
    return max(-int(Decimal(str(step)).normalize().as_tuple().exponent), 0)


class Export:
    """Files of one or more projects. Two passes: what each run is, and then its points, run by run."""

    def __init__(self, parquet: Any, files: List[str]) -> None:
        self.parquet, self.files = parquet, files
        self.runs: Dict[Tuple[str, str], Run] = {}
        self.left = Left()
        self.damaged = 0

    def groups(self, path: str) -> Iterator[Tuple[int, Any]]:
        file = self.parquet.ParquetFile(path)
        missing = [name for name in COLUMNS + ["step", "timestamp", "float_value"] if name not in file.schema_arrow.names]
        if missing:
            raise ValueError("it has no column {}".format(", ".join(missing)))
        for number in range(file.num_row_groups):
            yield number, file

    def read_runs(self) -> None:
        for path in self.files:
            try:
                for number, file in self.groups(path):
                    self.read_group(path, number, file)
            except (OSError, ValueError) as error:  # pyarrow's are such
                say("cannot read '{}': {}".format(path, error))
                self.damaged += 1

    def read_group(self, path: str, number: int, file: Any) -> None:
        wanted = COLUMNS + ["step", "timestamp"] + [name for name in SINGLE.values() if name in file.schema_arrow.names]
        for batch in file.iter_batches(BATCH_ROWS, row_groups=[number], columns=wanted):
            columns = {name: batch.column(batch.schema.names.index(name)) for name in wanted}
            rows = [columns[name].to_pylist() for name in COLUMNS]
            times, steps = milliseconds(columns["timestamp"]), columns["step"].to_pylist()
            values: Dict[str, List[Any]] = {}
            for at, (project, name, attribute, kind) in enumerate(zip(*rows)):
                run = self.runs.get((project, name))
                if not run:
                    run = self.runs[(project, name)] = Run(project, name)
                if kind == "float_series":
                    if (path, number) not in run.places[-1:]:
                        run.places.append((path, number))
                    if steps[at] is not None:
                        run.digits = max(run.digits, digits_of(steps[at]))
                    run.last_ms = max(run.last_ms, times[at] or 0)
                elif kind in SINGLE and SINGLE[kind] in columns:
                    if kind not in values:
                        column = columns[SINGLE[kind]]
                        values[kind] = milliseconds(column) if kind == "datetime" else column.to_pylist()
                    if values[kind][at] is not None:
                        run.attributes[attribute] = Moment(values[kind][at]) if kind == "datetime" else values[kind][at]
                else:
                    self.left.series.setdefault(str(kind), set()).add((project, name, attribute))

    def points(self, run: Run) -> Iterator[Tuple[str, Optional[int], Any, Any]]:
        """(metric, time, step, value), as they stand."""
        for path, number in run.places:
            wanted = COLUMNS + ["step", "timestamp", "float_value"]
            for batch in self.parquet.ParquetFile(path).iter_batches(BATCH_ROWS, row_groups=[number], columns=wanted):
                columns = [batch.column(batch.schema.names.index(name)) for name in wanted]
                rows = [column.to_pylist() for column in columns[:5]] + [milliseconds(columns[5]), columns[6].to_pylist()]
                for project, name, metric, kind, step, at_ms, value in zip(*rows):
                    if kind == "float_series" and (project, name) == (run.project, run.name):
                        yield metric, at_ms, step, value


class Moment(int):
    """Unix milliseconds, which are shown as a date."""


def text_of(value: Any) -> str:
    if isinstance(value, Moment):
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=int(value))).isoformat(timespec="milliseconds") + "Z"
    if isinstance(value, (list, tuple, set)):
        return ", ".join(sorted(str(one) for one in value))
    return value if isinstance(value, str) else json.dumps(value)


def comparable(value: Any) -> Optional[float]:
    """NaN is equal to nothing, not even to itself: None."""
    number = float(value)
    return number if number == number else None


# ---- what is told ----

class Receiver:
    def __init__(self, door: Door, run: Run, left: Left) -> None:
        self.door, self.run, self.left = door, run, left
        self.known: Dict[str, Set[Point]] = {}
        self.waiting: List[Dict[str, Any]] = []
        self.new = 0

    def post(self, call: str, **members: Any) -> Any:
        return self.door.post(CALLS + call, {"run_id": self.run.id, **members})

    def get(self, call: str, **parameters: Any) -> Any:
        query = urllib.parse.urlencode({"run_id": self.run.id, **parameters})
        return json.loads(self.door.send("{}{}{}?{}".format(self.door.url, CALLS, call, query), None, self.door.headers).decode())

    def make(self) -> bool:
        """False: it was there."""
        try:
            self.get("runs/get")
            return False
        except RunError as error:
            if error.status != 404:
                raise
        run = self.run
        began = run.get("sys/creation_time")
        members: Dict[str, Any] = {"client_run_id": run.id, "experiment_name": run.project, "run_name": run.name}
        if run.get("sys/owner"):
            members["user_id"] = str(run.get("sys/owner"))[:NAME_BYTES]
        if isinstance(began, Moment) and began >= EARLIEST_MS:
            members["start_time"] = int(began)
        self.post("runs/create", **members)
        return True

    def tell_texts(self) -> None:
        """Attributes are params, but for those of Neptune's own (sys/…), which are tags."""
        run = self.run
        multiplier = 10 ** run.digits
        tags = {"neptune.project": run.project, "neptune.run_id": run.name}
        if multiplier != 1:
            tags["neptune.step_multiplier"] = str(multiplier)
        tags.update({"neptune." + path: text_of(value) for path, value in run.attributes.items() if path.startswith("sys/")})
        params = {path: text_of(value) for path, value in run.attributes.items() if not path.startswith("sys/")}
        for what, texts, most in (("tags", tags, TAG_BYTES), ("params", params, PARAM_BYTES)):
            fitting = [{"key": key, "value": value} for key, value in sorted(texts.items())
                       if len(key.encode("utf-8", "replace")) <= KEY_BYTES and len(value.encode("utf-8", "replace")) <= most]
            self.left.texts += len(texts) - len(fitting)
            for first in range(0, len(fitting), BATCH_TEXTS):
                self.post("runs/log-batch", **{what: fitting[first:first + BATCH_TEXTS]})

    def there(self, metric: str) -> Set[Point]:
        """The points that the server has, if it had the run."""
        found: Set[Point] = set()
        token = ""
        while True:
            page = self.get("metrics/get-history", metric_key=metric, max_results=PAGE_POINTS, **({"page_token": token} if token else {}))
            for point in page.get("metrics", []):
                found.add((int(point["timestamp"]), int(point["step"]), comparable(point["value"])))
            token = page.get("next_page_token") or ""
            if not token:
                return found

    def tell_point(self, metric: str, at_ms: Optional[int], step: Any, value: Any, was_there: bool) -> None:
        whole = None if step is None else int(Decimal(str(step)).scaleb(self.run.digits))
        at_ms = at_ms if at_ms is not None else self.run.get("sys/creation_time")
        if value is None or whole is None or at_ms is None or at_ms < EARLIEST_MS or abs(whole) > STEP_LIMIT or len(metric.encode("utf-8", "replace")) > KEY_BYTES:
            self.left.points += 1
            return
        if was_there:
            if metric not in self.known:
                self.known[metric] = self.there(metric)
            if (int(at_ms), whole, comparable(value)) in self.known[metric]:
                return
        number: Any = value if value == value and abs(value) != float("inf") else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        self.waiting.append({"key": metric, "value": number, "timestamp": int(at_ms), "step": whole})
        if len(self.waiting) == BATCH_POINTS:
            self.flush()

    def flush(self) -> None:
        if self.waiting:
            self.post("runs/log-batch", metrics=self.waiting)
            self.new += len(self.waiting)
            self.waiting = []

    def tell_end(self) -> bool:
        """False: it goes on, as Neptune says."""
        run = self.run
        if str(run.get("sys/state") or "inactive").lower() not in ("inactive", "idle"):
            return False
        modified = run.get("sys/modification_time")
        ended = max(run.last_ms, int(run.get("sys/creation_time") or 0)) or (int(modified) if isinstance(modified, Moment) else 0)
        members: Dict[str, Any] = {"status": "FAILED" if run.get("sys/failed") is True else "FINISHED"}
        if ended >= EARLIEST_MS:
            members["end_time"] = ended
        self.post("runs/update", **members)
        return True


def move_run(export: Export, door: Door, run: Run) -> Tuple[int, bool]:
    """(new points, whether it has ended)"""
    if run.digits > MOST_DIGITS:
        raise RunError("its steps have {} digits behind the point; {} are taken".format(run.digits, MOST_DIGITS))
    receiver = Receiver(door, run, export.left)
    was_there = not receiver.make()
    receiver.tell_texts()
    for metric, at_ms, step, value in export.points(run):
        receiver.tell_point(metric, at_ms, step, value, was_there)
    receiver.flush()
    return receiver.new, receiver.tell_end()


def move_export(folder: str, server: Optional[str], token: Optional[str], ca_file: Optional[str]) -> int:
    """The exit status."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        say("reading Parquet needs pyarrow: pip install pyarrow ({})".format(error))
        return 2
    files = find_files(folder)
    if not files:
        say("there is no *.parquet in '{}'".format(folder))
        return 2
    door = Door(server or "http://127.0.0.1:8080", token or "smf-" + 40 * "0", ca_file)
    export = Export(parquet, files)
    export.read_runs()
    runs = points = running = refused = 0
    try:
        for _, run in sorted(export.runs.items()):
            try:
                new, has_ended = move_run(export, door, run)
            except RunError as error:
                say("run {} of {} is not moved, or not as a whole: {}".format(run.name, run.project, error))
                refused += 1
                continue
            runs, points, running = runs + 1, points + new, running + (not has_ended)
    except (WandbError, OSError) as error:
        say("{}; start it again, and it goes on where it stood".format(error))
        return 3
    say("{} runs of '{}' are jobs; {} points are new".format(runs, folder, points))
    if running:
        say("{} of the runs have not ended, as Neptune says".format(running))
    export.left.say()
    return 4 if refused or export.damaged else 0
