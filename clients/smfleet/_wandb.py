"""
python -m smfleet import wandb: runs of a W&B project become jobs. They are read by W&B's GraphQL, as its own wandb.Api() does, and told to the
server by its W&B door: under their ids, with the offsets of their lines, so that what is there already is not sent, or stored, again.
"""

import base64
import datetime
import http.client
import itertools
import json
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Iterator, List, Optional, Tuple

import sm_ship

PAGE_RUNS = 50
PAGE_ROWS = 1000
POST_LINES = 1000
POST_BYTES = 4 << 20
TIMEOUT_S = 120
ASKS_AGAIN_S = (0.2, 1, 5)  # after these pauses
HISTORY, SUMMARY, CONSOLE = "wandb-history.jsonl", "wandb-summary.json", "output.log"
EXIT_CODES = {"finished": 0, "failed": 1, "crashed": 1, "killed": 255, "preempted": 255}

RUNS = """query Runs($project: String!, $entity: String!, $cursor: String, $perPage: Int) {
  project(name: $project, entityName: $entity) {
    runs(after: $cursor, first: $perPage, order: "+created_at") {
      edges { node { name displayName state config tags group jobType notes createdAt heartbeatAt summaryMetrics historyKeys
        user { username } } }
      pageInfo { endCursor hasNextPage }
    }
  }
}"""
HISTORY_PAGE = """query HistoryPage($entity: String!, $project: String!, $run: String!, $minStep: Int64!, $maxStep: Int64!, $pageSize: Int!) {
  project(name: $project, entityName: $entity) {
    run(name: $run) { history(minStep: $minStep, maxStep: $maxStep, samples: $pageSize) }
  }
}"""
HISTORY_KEYS = """query RunHistoryKeys($project: String!, $entity: String!, $name: String!) {
  project(name: $project, entityName: $entity) { run(name: $name) { historyKeys } }
}"""
FILES = """query RunFiles($project: String!, $entity: String!, $name: String!, $names: [String!]) {
  project(name: $project, entityName: $entity) {
    run(name: $name) { fileCount files(names: $names, first: 1) { edges { node { name directUrl sizeBytes } } } }
  }
}"""


def encoded(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


class WandbError(Exception):
    """What a server says, in its words."""


class NothingThere(WandbError):
    """Nor is it later: to start again is no advice."""


class Refusal(WandbError):
    """What GraphQL says against what was asked."""


class RunError(WandbError):
    """What a run alone is in the way of. status: of HTTP; 0: it was no reply."""

    def __init__(self, text: str, status: int = 0) -> None:
        WandbError.__init__(self, text)
        self.status = status


class Door:
    """A server that speaks the protocol of W&B's SDK."""

    def __init__(self, url: str, key: Optional[str], ca_file: Optional[str] = None) -> None:
        self.url = (url if "//" in url else "http://" + url).rstrip("/")
        self.headers = {"User-Agent": "smfleet-python/" + sm_ship.VERSION}
        if key:
            self.headers["Authorization"] = "Basic " + base64.b64encode(("api:" + key).encode()).decode()
        self.context = ssl.create_default_context(cafile=ca_file) if self.url.startswith("https:") else None

    def once(self, url: str, body: Optional[bytes], headers: Dict[str, str]) -> bytes:
        request = urllib.request.Request(url, body)
        for name, value in headers.items():
            request.add_unredirected_header(name, value)  # a key is for whom it was meant
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self.context) as reply:
            return bytes(reply.read())

    def send(self, url: str, body: Optional[bytes], headers: Dict[str, str]) -> bytes:
        """A server that is away, or busy, is asked again."""
        for pause in ASKS_AGAIN_S + (None,):
            try:
                return self.once(url, body, headers)
            except urllib.error.HTTPError as error:
                said = error.read().decode("utf-8", "replace")[:400]
                if error.code in (400, 404, 409, 413, 422):
                    raise RunError("{} answered with status {}: {}".format(self.url, error.code, said), error.code)
                if pause is None or (error.code < 500 and error.code != 429):
                    raise WandbError("{} answered with status {}: {}".format(self.url, error.code, said))
            except (OSError, http.client.HTTPException) as error:
                if pause is None:
                    raise WandbError("cannot reach {}: {}".format(self.url, getattr(error, "reason", error)))
            time.sleep(pause)
        raise AssertionError

    def headers_for(self, url: str) -> Dict[str, str]:
        """With the key where the server is that it was given for: W&B's files lie elsewhere, at addresses that are signed."""
        one, other = urllib.parse.urlsplit(url), urllib.parse.urlsplit(self.url)
        return self.headers if (one.scheme, one.netloc) == (other.scheme, other.netloc) else {}

    def post(self, path: str, document: Dict[str, Any]) -> Any:
        answer = self.send(self.url + path, encoded(document), dict(self.headers, **{"Content-Type": "application/json"}))
        try:
            return json.loads(answer.decode())
        except ValueError:
            raise WandbError("{}{} answered with what is no JSON".format(self.url, path))

    def ask(self, operation: str, query: str, variables: Dict[str, Any]) -> Any:
        answer = self.post("/graphql", {"operationName": operation, "query": query, "variables": variables})
        if answer.get("errors"):
            raise Refusal("{}: {}".format(self.url, "; ".join(str(error.get("message")) for error in answer["errors"])[:400]))
        return answer["data"]


# ---- what is read ----

def read_runs(source: Door, entity: str, project: str) -> Iterator[Dict[str, Any]]:
    cursor = None
    while True:
        data = source.ask("Runs", RUNS, {"project": project, "entity": entity, "cursor": cursor, "perPage": PAGE_RUNS})
        if not data.get("project"):
            raise NothingThere("{} has no project {}/{}".format(source.url, entity, project))
        runs = data["project"]["runs"]
        for edge in runs["edges"]:
            yield edge["node"]
        if not runs["pageInfo"]["hasNextPage"]:
            return
        cursor = runs["pageInfo"]["endCursor"]


def last_step(run: Dict[str, Any]) -> int:
    keys = run.get("historyKeys") or {}
    keys = json.loads(keys) if isinstance(keys, str) else keys
    return int(keys.get("lastStep", -1))


def still_there(data: Dict[str, Any], run: Dict[str, Any]) -> Any:
    found = (data.get("project") or {}).get("run")
    if not found:
        raise RunError("W&B has it no more")
    return found


def read_history(source: Door, entity: str, project: str, run: Dict[str, Any]) -> Iterator[str]:
    """Every row, as scan_history() has it: page after page of as many steps as rows are asked for, or of more where few steps have rows."""
    first, steps, last = 0, PAGE_ROWS, last_step(run)
    while first <= last:
        behind = min(first + steps, last + 1)
        data = source.ask("HistoryPage", HISTORY_PAGE, {"entity": entity, "project": project, "run": run["name"],
            "minStep": first, "maxStep": behind, "pageSize": PAGE_ROWS})
        rows = still_there(data, run)["history"] or []
        if len(rows) >= PAGE_ROWS and behind - first > PAGE_ROWS:  # some of them
            steps = max((behind - first) // 4, PAGE_ROWS)
            continue
        for row in rows:
            yield row if isinstance(row, str) else json.dumps(row)
        first = behind
        if len(rows) < PAGE_ROWS // 4:
            steps *= 2


def read_files(source: Door, entity: str, project: str, run: Dict[str, Any]) -> Tuple[List[str], int]:
    """(The lines of output.log, how many other files there are.)"""
    found = still_there(source.ask("RunFiles", FILES, {"project": project, "entity": entity, "name": run["name"], "names": [CONSOLE]}), run)
    console = [edge["node"] for edge in found["files"]["edges"] if edge["node"]["name"] == CONSOLE]
    lines: List[str] = []
    if console and console[0].get("directUrl"):
        place = urllib.parse.urljoin(source.url, console[0]["directUrl"])
        if urllib.parse.urlsplit(place).scheme not in ("http", "https"):
            raise RunError("W&B says that its {} is at '{}', which is no address of HTTP".format(CONSOLE, place[:200]))
        try:
            lines = lines_of(source.send(place, None, source.headers_for(place)).decode("utf-8", "replace"), run)
        except WandbError as error:  # one file's
            raise RunError("its {}: {}".format(CONSOLE, error))
    return lines, max(found.get("fileCount") or 0, len(console)) - len(console)


def lines_of(text: str, run: Dict[str, Any]) -> List[str]:
    """A last line without an end is half of one, as long as the run goes on: it is taken when it is whole."""
    lines = text.splitlines(True)
    if lines and run.get("state") not in EXIT_CODES and not lines[-1].endswith("\n"):
        lines.pop()
    return [line.rstrip("\r\n") for line in lines]


# ---- which rows are new ----

Place = Tuple[float, float]  # of a row: (step, second)


class WentBack(Exception):
    """The rows that are there are not the first ones of W&B."""


def place_of(line: str) -> Optional[Place]:
    row = json.loads(line)
    step, second = row.get("_step"), row.get("_timestamp")
    return (step, second) if isinstance(step, (int, float)) and isinstance(second, (int, float)) else None


def are_same(one: Optional[Place], other: Optional[Place]) -> bool:
    """Times are kept in milliseconds."""
    return one is not None and other is not None and one[0] == other[0] and abs(one[1] - other[1]) < 0.0015


def rows_behind(rows: Iterator[str], count: int, last: Optional[Place]) -> Iterator[str]:
    """What is behind the first so many rows, if the last of those is the one that is there."""
    number = 0
    for number, line in enumerate(rows, 1):
        if number == count and last and not are_same(place_of(line) or last, last):
            raise WentBack
        if number > count:
            yield line
    if number < count:
        raise WentBack


def compare(ours: Iterator[str], theirs: Iterator[str]) -> Tuple[int, Optional[float], bool]:
    """(how many of their rows are before the first of ours that they lack, the step of the last of those, whether they lack any)"""
    count, at, step = 0, 0, None
    for line in ours:
        mine = place_of(line)
        other = None
        for row in theirs:
            at += 1
            other = place_of(row)
            if mine is None or (other and other[0] >= mine[0]):
                break
        if not are_same(mine, other):
            return count, step, True
        count, step = at, mine[0] if mine else step
    return count, step, False


# ---- what is told ----

def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value or {})


def with_start(run: Dict[str, Any]) -> str:
    """The config, as it was sent, and the user; of a run that does not say when it began, with the time at which W&B heard of it."""
    config = json.loads(text_of(run.get("config")) or "{}")
    about = config.setdefault("_wandb", {"value": {}}).setdefault("value", {})
    began = about.setdefault("e", {})
    if run.get("createdAt") and not any("startedAt" in one for one in began.values() if isinstance(one, dict)):
        began.setdefault("imported", {})["startedAt"] = run["createdAt"].rstrip("Z") + "Z"
    user = (run.get("user") or {}).get("username")
    if user:
        config.setdefault("wandb_user", {"value": user})
    return json.dumps(config, ensure_ascii=False, separators=(",", ":"))  # as the SDK writes lists, which stay as they are


def end_of(run: Dict[str, Any]) -> Optional[datetime.datetime]:
    for name in ("heartbeatAt", "createdAt"):
        found = re.match(r"(\d+-\d+-\d+T\d+:\d+:\d+)(\.\d{1,6})?", str(run.get(name)))
        try:
            if found:
                return datetime.datetime.strptime(found.group(1) + (found.group(2) or ".0"), "%Y-%m-%dT%H:%M:%S.%f")
        except ValueError:
            continue
    return None


class Receiver:
    def __init__(self, door: Door, entity: str, project: str, run: Dict[str, Any]) -> None:
        self.door, self.entity, self.project, self.run = door, entity, project, run
        self.path = "/files/{}/{}/{}/file_stream".format(*(urllib.parse.quote(part, safe="") for part in (entity, project, run["name"])))

    def ask(self, operation: str, query: str, variables: Dict[str, Any]) -> Any:
        """What is said against a run (its job is in the trash) is no word against the others."""
        try:
            return self.door.ask(operation, query, variables)
        except Refusal as error:
            raise RunError(str(error))

    def known(self) -> Tuple[int, int, Optional[Place]]:
        """How many rows and lines are there, and the last row."""
        data = self.ask("RunResumeStatus", "query RunResumeStatus { model { bucket { id } } }",
            {"entity": self.entity, "project": self.project, "name": self.run["name"]})
        bucket = (data.get("model") or {}).get("bucket") or {}
        tail = json.loads(bucket.get("historyTail") or "[]")
        return bucket.get("historyLineCount") or 0, bucket.get("logLineCount") or 0, place_of(tail[-1]) if tail else None

    def go_back(self, step: int) -> None:
        self.ask("RewindRun", "mutation RewindRun { rewindRun { rewoundRun { id } } }", {
            "entity": self.entity, "project": self.project, "runName": self.run["name"], "metricName": "_step", "metricValue": step})

    def make(self) -> None:
        run = self.run
        self.ask("UpsertBucket", "mutation UpsertBucket { upsertBucket { bucket { id } } }", {
            "entity": self.entity, "project": self.project, "name": run["name"], "displayName": run.get("displayName"), "config": with_start(run),
            "tags": run.get("tags"), "groupName": run.get("group"), "jobType": run.get("jobType"), "notes": run.get("notes")})

    def stream(self, name: str, offset: int, lines: Iterator[str]) -> int:
        """Sends lines behind the `offset` that are there; how many they were."""
        sent, batch, size = 0, [], 0
        for line in lines:
            line_bytes = len(encoded(line))
            if batch and (len(batch) == POST_LINES or size + line_bytes > POST_BYTES):
                self.door.post(self.path, {"files": {name: {"offset": offset + sent, "content": batch}}})
                sent, batch, size = sent + len(batch), [], 0
            batch.append(line)
            size += line_bytes
        if batch:
            self.door.post(self.path, {"files": {name: {"offset": offset + sent, "content": batch}}})
        return sent + len(batch)

    def end(self) -> None:
        self.door.post(self.path, {"files": {SUMMARY: {"offset": 0, "content": [text_of(self.run.get("summaryMetrics"))]}}})
        if self.run.get("state") in EXIT_CODES:
            end = end_of(self.run)
            code = EXIT_CODES[self.run["state"]]  # of a failure W&B keeps none
            self.door.post(self.path, {"complete": True, "exitcode": code, "exitcode_is_unknown": code == 1,
                **({"ended_ms": round(end.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)} if end else {})})


def stamp(lines: List[str], run: Dict[str, Any]) -> Iterator[str]:
    """W&B keeps no times of lines: they are assumed to be of the run's end."""
    end = end_of(run)
    return (end.strftime("%Y-%m-%dT%H:%M:%S.%f ") + line if end else line for line in lines)


def go_back(source: Door, receiver: "Receiver") -> int:
    """A run that went back (resume_from) has other rows than before: the job goes back, too. How many rows are the same."""
    entity, project, run = receiver.entity, receiver.project, receiver.run
    here = receiver.ask("RunHistoryKeys", HISTORY_KEYS, {"project": project, "entity": entity, "name": run["name"]})
    ours = read_history(receiver.door, entity, project, dict(run, historyKeys=still_there(here, run)["historyKeys"]))
    count, step, lacks = compare(ours, read_history(source, entity, project, run))
    if lacks and step is None:
        raise RunError("none of the rows that its job has are W&B's any more: delete the job, and import again")
    if lacks:
        receiver.go_back(int(step))
    return count


def move_rows(source: Door, receiver: "Receiver") -> int:
    """How many were new."""
    def rows() -> Iterator[str]:
        return read_history(source, receiver.entity, receiver.project, receiver.run)
    count, _, last = receiver.known()
    try:
        return receiver.stream(HISTORY, count, rows_behind(rows(), count, last))
    except WentBack:
        same = go_back(source, receiver)
    return receiver.stream(HISTORY, receiver.known()[0], itertools.islice(rows(), same, None))


def move_run(source: Door, door: Door, entity: str, project: str, run: Dict[str, Any]) -> Tuple[int, int, int]:
    """(new rows, new lines, files that are left out)"""
    receiver = Receiver(door, entity, project, run)
    receiver.make()
    rows = move_rows(source, receiver)
    try:
        lines, left = read_files(source, entity, project, run)
    except RunError:
        receiver.end()  # of what there is; its lines come when it is imported again
        raise
    lines_there = receiver.known()[1]  # none of a run that went back, as its client counts them
    new_lines = receiver.stream(CONSOLE, lines_there, itertools.islice(stamp(lines, run), lines_there, None))
    receiver.end()
    return rows, new_lines, left


def say(text: str) -> None:
    sys.stderr.write("smfleet: {}\n".format(text))


def move_project(place: str, server: Optional[str], token: Optional[str], ca_file: Optional[str]) -> int:
    """The exit status."""
    if place.count("/") != 1 or not all(place.split("/")):
        say("'{}' is no ENTITY/PROJECT".format(place))
        return 2
    entity, project = place.split("/")
    source = Door(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai", os.environ.get("WANDB_API_KEY"))
    door = Door(server or "http://127.0.0.1:8080", token or "smf-" + 40 * "0", ca_file)
    runs = rows = lines = left = running = refused = 0
    try:
        for run in read_runs(source, entity, project):
            try:
                new_rows, new_lines, files = move_run(source, door, entity, project, run)
            except RunError as error:
                say("run {} ('{}') is not moved, or not as a whole: {}".format(run["name"], run.get("displayName"), error))
                refused += 1
                continue
            except (ValueError, TypeError, KeyError) as error:
                say("run {} ('{}') is not moved, or not as a whole: W&B's answer about it is not understood: {}".format(run["name"], run.get("displayName"), error))
                refused += 1
                continue
            runs, rows, lines, left = runs + 1, rows + new_rows, lines + new_lines, left + files
            running += run.get("state") not in EXIT_CODES
    except NothingThere as error:
        say(str(error))
        return 3
    except WandbError as error:
        say("{}; start it again, and it goes on where it stood".format(error))
        return 3
    say("{} runs of {} are jobs; {} rows and {} lines are new".format(runs, place, rows, lines))
    if running:
        say("{} of the runs have not ended, as W&B says".format(running))
    if left:
        say("not moved: {} files of runs (output.log is); nor artifacts, media, system metrics and sweeps".format(left))
    return 4 if refused else 0
