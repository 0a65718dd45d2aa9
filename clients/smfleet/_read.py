"""Reads jobs and points of a server, and writes notes. pandas and NumPy are used where somebody asks for them, and need not be there."""

import csv
import io
import json
import os
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Dict, Iterator, List, Optional

import sm_ship

ENDED = ("Completed", "Failed", "Stopped")


class ApiError(Exception):
    """What the server says, in its words. status is 0 where none was reached."""

    def __init__(self, status: int, text: str) -> None:
        Exception.__init__(self, text)
        self.status = status


def import_or_say(name: str, use: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise ImportError("{} needs {}: pip install {}".format(use, name, name))


def problem_of(error: urllib.error.HTTPError) -> ApiError:
    try:
        text = json.loads(error.read().decode("utf-8", "replace"))["detail"]
    except (ValueError, KeyError, TypeError):
        text = "the server answered with status {}".format(error.code)
    return ApiError(error.code, text)


class Api:
    def __init__(self, server: Optional[str] = None, token: Optional[str] = None, token_file: Optional[str] = None,
                 ca_file: Optional[str] = None) -> None:
        """What is not given comes from SMFLEET_SERVER, SMFLEET_TOKEN, SMFLEET_TOKEN_FILE, SMFLEET_CA_FILE."""
        self.servers = (server or os.environ.get("SMFLEET_SERVER") or "http://127.0.0.1:8080").split(",")
        self.ca_file = ca_file or os.environ.get("SMFLEET_CA_FILE")
        token_file = token_file or os.environ.get("SMFLEET_TOKEN_FILE")
        self.token = token or os.environ.get("SMFLEET_TOKEN")
        if token_file and not token:
            with open(token_file) as file:
                self.token = file.read().strip()

    def get(self, path: str, **parameters: Any) -> bytes:
        query = urllib.parse.urlencode([(name, value) for name, value in parameters.items() if value is not None])
        return self.ask("GET", path + ("?" + query if query else ""))

    def ask(self, method: str, path: str, body: Optional[Dict[str, Any]] = None, **headers: str) -> bytes:
        """Of several addresses the first that is not away."""
        for left in range(len(self.servers), 0, -1):
            try:
                return self.ask_one(self.servers[0].strip(), method, path, body, headers)
            except ApiError as error:
                if error.status not in (0, 503) or left == 1:
                    raise
                self.servers.append(self.servers.pop(0))
        raise ApiError(0, "no server is given")

    def ask_one(self, server: str, method: str, path: str, body: Optional[Dict[str, Any]], headers: Dict[str, str]) -> bytes:
        url = (server if "//" in server else "http://" + server).rstrip("/")
        request = urllib.request.Request(url + path, None if body is None else json.dumps(body).encode(), method=method)
        request.add_header("User-Agent", "smfleet-python/" + sm_ship.VERSION)
        if body is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        context = ssl.create_default_context(cafile=self.ca_file) if url.startswith("https:") else None
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as reply:
                return bytes(reply.read())
        except urllib.error.HTTPError as error:
            raise problem_of(error)
        except OSError as error:
            raise ApiError(0, "cannot reach {}: {}".format(server, getattr(error, "reason", error)))

    def jobs(self, query: str = "", fields: Optional[str] = None, sort: Optional[str] = None) -> "Jobs":
        """All jobs of a search; fields as in GET /api/v1/jobs: 'TrainingJobName,hp.lr,loss.min'."""
        return Jobs(self, query, fields, sort)

    def job(self, name: str) -> "Job":
        return Job(self, name)

    def points(self, metric: str, query: str = "", x: Optional[str] = None, from_: Optional[float] = None,
               to: Optional[float] = None) -> "Points":
        """Every point of the metric in all jobs of a search; from_ and to (inclusive) on the axis x: step, time, tokens, flops."""
        limits = {"from": from_, "to": to}
        return Points(self.get("/api/v1/points", metric=metric, q=query or None, x=x, **limits).decode())


class Jobs:
    """The jobs of a search. Each use asks the server anew."""

    def __init__(self, api: Api, query: str, fields: Optional[str], sort: Optional[str]) -> None:
        self.api, self.query, self.fields, self.sort = api, query, fields, sort

    def read(self, form: str) -> str:
        return self.api.get("/api/v1/jobs", q=self.query or None, fields=self.fields, sort=self.sort, format=form).decode()

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter([json.loads(line) for line in self.read("ndjson").splitlines() if line])

    def df(self) -> Any:
        pandas = import_or_say("pandas", "df()")
        return pandas.read_csv(io.StringIO(self.read("csv")))

    def points(self, metric: str, x: Optional[str] = None, from_: Optional[float] = None, to: Optional[float] = None) -> "Points":
        return self.api.points(metric, self.query, x, from_, to)


class Points:
    """Points in their order, a row each: job, stream, step, ts_ms, value, and x where tokens or FLOPs were asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        table = csv.DictReader(io.StringIO(text))
        rows = list(table)
        self.axis: Optional[str] = next((name for name in table.fieldnames or () if name in ("tokens", "flops")), None)
        self.x: Optional[List[float]] = [float(row[self.axis]) for row in rows] if self.axis else None
        self.jobs: List[str] = [row["job"] for row in rows]
        self.streams: List[str] = [row["stream"] for row in rows]
        self.steps: List[int] = [int(row["step"]) for row in rows]
        self.times_ms: List[Optional[int]] = [int(row["ts_ms"]) if row["ts_ms"] else None for row in rows]
        self.values: List[float] = [float(row["value"]) for row in rows]

    def __len__(self) -> int:
        return len(self.values)

    def numpy(self) -> Any:
        """(steps, values)"""
        numpy = import_or_say("numpy", "numpy()")
        return numpy.array(self.steps, dtype="int64"), numpy.array(self.values, dtype="float64")

    def df(self) -> Any:
        pandas = import_or_say("pandas", "df()")
        along = {self.axis: self.x} if self.axis else {}
        return pandas.DataFrame({"job": self.jobs, "stream": self.streams, "step": self.steps, "ts_ms": self.times_ms,
                                 "value": self.values, **along})


class Job:
    def __init__(self, api: Api, name: str) -> None:
        self.api, self.name = api, name
        self.path = "/api/v1/jobs/" + urllib.parse.quote(name, safe="")

    def document(self) -> Dict[str, Any]:
        document: Dict[str, Any] = json.loads(self.api.get(self.path).decode())
        return document

    def points(self, metric: str, stream: Optional[str] = None) -> Points:
        return Points(self.api.get(self.path + "/points", metric=metric, stream=stream, raw="true", format="csv").decode())

    def svg(self, metric: str = "loss", **parameters: Any) -> str:
        """The server's picture; parameters as in docs/charts.md: x, scale, smooth, width, theme."""
        return self.api.get(self.path + "/chart.svg", metric=metric, **parameters).decode()

    def chart(self, metric: str = "loss", **parameters: Any) -> "Chart":
        """In a notebook: a chart that is shown and goes on with the job, until it ends or stop() is called."""
        return Chart(self, metric, parameters)

    def notes(self, deleted: bool = False) -> List[Dict[str, Any]]:
        """Its notes, oldest first; deleted: with those whose deletion can still be taken back."""
        found: List[Dict[str, Any]] = []
        after: Optional[int] = 0
        while after is not None:
            page = json.loads(self.api.get(self.path + "/notes", after=after, deleted="true" if deleted else None).decode())
            found += page["notes"]
            after = page.get("next_after")
        return found

    def note(self, text: str, step: Optional[int] = None, ts_ms: Optional[int] = None, stream: Optional[str] = None,
             line: Optional[int] = None, checkpoint: Optional[int] = None) -> Dict[str, Any]:
        """Writes a note at one place: a step, a time, a line of a stream, the step of a checkpoint. Its author is the token's name."""
        place = {"step": step, "ts_ms": ts_ms, "stream": stream, "line": line, "checkpoint": checkpoint}
        body = dict({name: value for name, value in place.items() if value is not None}, text=text)
        return self.change("POST", "/notes", body, Idempotency_Key="smfleet-" + uuid.uuid4().hex)

    def edit_note(self, number: int, text: str) -> Dict[str, Any]:
        return self.change("PATCH", "/notes/{}".format(number), {"text": text})

    def delete_note(self, number: int) -> Dict[str, Any]:
        """For an hour restore_note() takes it back."""
        return self.change("DELETE", "/notes/{}".format(number))

    def restore_note(self, number: int) -> Dict[str, Any]:
        return self.change("PATCH", "/notes/{}".format(number), {"deleted": False})

    def change(self, method: str, rest: str, body: Optional[Dict[str, Any]] = None, **headers: str) -> Dict[str, Any]:
        changed: Dict[str, Any] = json.loads(self.api.ask(method, self.path + rest, body, **headers).decode())
        return changed

    def has_ended(self) -> bool:
        return self.document().get("TrainingJobStatus") in ENDED


class Chart:
    """Asked for by the kernel, so the notebook's page needs neither a token nor the server's leave. Plain SVG, without scripts."""

    def __init__(self, job: Job, metric: str, parameters: Dict[str, Any], every_s: float = 2.0) -> None:
        self.job, self.metric, self.parameters, self.every_s = job, metric, parameters, every_s
        self.over = threading.Event()
        self.picture = job.svg(metric, **parameters)
        self.thread: Optional[threading.Thread] = None

    def _repr_svg_(self) -> str:
        return self.picture

    def _ipython_display_(self) -> None:
        display = import_or_say("IPython", "a live chart").display
        self.follow(display.display(display.SVG(self.picture), display_id=True).update, display.SVG)

    def follow(self, update: Any, wrap: Any = str) -> None:
        """Calls update(wrap(picture)) whenever it is another."""
        self.thread = threading.Thread(target=self.run, args=(update, wrap), daemon=True, name="smfleet-chart")
        self.thread.start()

    def run(self, update: Any, wrap: Any) -> None:
        is_last = False
        while not is_last:
            is_last = self.over.wait(self.every_s)
            try:
                is_last = is_last or self.job.has_ended()
                picture = self.job.svg(self.metric, **self.parameters)
            except ApiError:
                continue  # away: the last picture stays, and the next look is soon
            if picture != self.picture:
                self.picture = picture
                update(wrap(picture))

    def stop(self) -> None:
        self.over.set()
