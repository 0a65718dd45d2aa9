"""A run: what log() got goes through a queue into a file, and from there to the server by sm_ship's sender."""

import atexit
import collections
import json
import os
import sys
import threading
import time
import uuid
from types import TracebackType
from typing import Any, Callable, Deque, Dict, List, Mapping, NoReturn, Optional, Tuple, Type

import sm_ship

from ._spool import FileSpool, Record, default_folder, warn

VERSION = sm_ship.VERSION
MAX_QUEUED = 100000  # records; a disk that stands still must not fill the memory of a training
MAX_SPOOL_BYTES = 1 << 30
MAX_NAME_BYTES = 255
MAX_TEXT_BYTES = 4096  # of a note, as the server takes by default
DRAIN_S = 15.0  # what is not sent by then stays on disk


def is_name(key: Any) -> bool:
    try:
        return isinstance(key, str) and 0 < len(key.encode()) <= MAX_NAME_BYTES and key.isprintable()
    except UnicodeEncodeError:
        return False


def flatten(values: Mapping[Any, Any], prefix: str = "") -> List[Tuple[Any, Any]]:
    """{"a": {"b": 1}} is a/b."""
    pairs: List[Tuple[Any, Any]] = []
    for key, value in values.items():
        name = prefix + key if isinstance(key, str) else key
        if isinstance(value, Mapping) and isinstance(name, str):
            pairs += flatten(value, name + "/")
        else:
            pairs.append((name, value))
    return pairs


def number_of(value: Any) -> Any:
    """As JSON has it: NaN and the infinities are texts. None: it is no number."""
    if not isinstance(value, (int, float)) and hasattr(value, "item"):
        value = value.item()  # NumPy, PyTorch, JAX: of one element
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return int(value) if isinstance(value, bool) else None
    number = float(value)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    return number


class RunSender(sm_ship.Sender):
    """sm_ship's, for points and notes as well; its offsets are the spool's, so that another process can go on."""

    def __init__(self, server: Any, identity: Any, spool: FileSpool, resumes: bool) -> None:
        sm_ship.Sender.__init__(self, server, identity, spool, {}, resumes)
        self.offsets = spool.state["offsets"]
        self.source = "smfleet-" + spool.header["id"]
        self.started_ms = spool.header["started_ms"]
        self.warned: set = set()
        self.sent_points = self.sent_notes = 0

    def say(self, text: Any) -> None:
        warn(str(text))

    def create(self) -> None:
        if not self.spool.state["job"]:
            sm_ship.Sender.create(self)
            self.spool.state["job"] = self.job
            self.spool.keep_state()
        self.job = self.spool.state["job"]

    def send(self, stream: str, records: List[Record]) -> None:
        if stream == "points":
            self.send_points(records)
        else:
            self.send_notes(records)

    def send_points(self, records: List[Record]) -> None:
        rows = [{"metric": name, "step": record["step"], "ts_ms": record["ts"], "value": value}
                for record in records for name, value in record["values"].items()]
        stream = self.identity.stream
        standing = self.offsets.setdefault("points", 0)  # without next_offset in the reply nothing was stored
        reply = self.deliver("/api/v1/points", stream, "points", rows, 0)
        if self.offsets.setdefault("points", standing) != standing and not reply:
            self.spool.keep_state()  # it comes again from there, also when another process sends it
        self.sent_points += len(rows) if reply else 0
        for warning in reply.get("warnings") or []:
            if len(self.warned) < 20 and warning not in self.warned:
                self.warned.add(warning)
                self.say("the server says: {}".format(warning))

    def send_notes(self, records: List[Record]) -> None:
        """The server knows each by its key, whoever sends it again. One that it refuses holds up nothing else."""
        for record in records:
            place = {"ts_ms": record["ts"]} if record["step"] is None else {"step": record["step"]}
            body = json.dumps(dict(place, text=record["text"])).encode()
            try:
                status, reply = self.insist(self.server.call, "POST", self.path("/notes"), body, Idempotency_Key=record["key"])
            except sm_ship.Refused as error:
                status, reply = 422, {"detail": str(error)}
            if status not in (200, 201):
                self.say("the server refused the note '{}': {}".format(record["text"][:80], reply.get("detail") or status))
            else:
                self.sent_notes += 1
        self.spool.release()

    def tell_end(self) -> None:
        end = self.spool.end_record
        if end is None:
            return  # it was killed: nobody says how it ended
        self.outcome = (end["status"], end["reason"])
        if self.identity.rank == 0 or end["status"] == "Failed":
            self.tell(end["status"], end["ts"], ["Failed", "Stopped"], end["reason"])

    def run(self) -> None:
        try:
            sm_ship.Sender.run(self)
        except Exception as error:  # a thread of ours that ends must not end unsaid
            self.say("what is sent stopped: {!r}".format(error))
            self.result = 3
        if self.result == 0:
            self.spool.remove()


class Run:
    """What init() gives. Threads may share it; a forked process needs one of its own."""

    def __init__(self, sender_of: Callable[[FileSpool], RunSender], spool: FileSpool) -> None:
        self.spool = spool
        self.sender = sender_of(spool)
        self.step = -1
        self.pid = os.getpid()
        self.said: set = set()
        self.dropped = 0
        self.queue: Deque[Record] = collections.deque()
        self.changed = threading.Condition()
        self.is_over = False
        self.failure: Optional[str] = None
        self.exit_reason: Optional[str] = None  # of a sys.exit() behind which nothing was logged
        self.writer = threading.Thread(target=self.write, daemon=True, name="smfleet-spool")
        self.writer.start()
        self.sender.thread.start()

    @property
    def job(self) -> str:
        """Its name at the server, which may add a number to what was asked for."""
        return self.spool.state["job"] or self.sender.identity.job

    # ---- what a training calls: nothing here raises, or waits for a disk or the network ----

    def log(self, values: Mapping[str, Any], step: Optional[int] = None) -> None:
        try:
            self.put_points(values, step)
        except Exception as error:
            self.say_once("log", "log() could not take it: {!r}".format(error))

    def note(self, text: str, step: Optional[int] = None) -> None:
        try:
            packed = str(text).strip().replace("\0", "\ufffd").encode("utf-8", "replace")
            if len(packed) > MAX_TEXT_BYTES:
                self.say_once("long", "note(): a text of {} bytes is cut to {}".format(len(packed), MAX_TEXT_BYTES))
            line = packed[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
            if not line:
                self.say_once("note", "note() got an empty text")
            elif self.may_put():
                self.put({"s": "notes", "text": line, "step": None if step is None else int(step), "ts": sm_ship.now_ms(),
                          "key": "smfleet-" + uuid.uuid4().hex})
        except Exception as error:
            self.say_once("note", "note() could not take it: {!r}".format(error))

    def put_points(self, values: Mapping[str, Any], step: Optional[int]) -> None:
        if not self.may_put():
            return
        taken: Dict[str, Any] = {}
        for key, value in flatten(values):
            number = None
            if is_name(key):
                try:
                    number = number_of(value)
                except Exception:
                    number = None
                if number is None:
                    self.say_once(key, "log(): the value of '{}' is no number, but {}; it is left out".format(key, type(value).__name__))
            else:
                self.say_once(repr(key)[:300], "log(): {} is no name of a metric (a printable text of 1 to {} bytes); it is left out"
                              .format(repr(key)[:100], MAX_NAME_BYTES))
            if number is not None:
                taken[key] = number
        with self.changed:
            self.step = self.step + 1 if step is None else int(step)
            at = self.step
        if taken:
            self.put({"s": "points", "values": taken, "step": at, "ts": sm_ship.now_ms()})

    def may_put(self) -> bool:
        if self.exit_reason and threading.current_thread() is threading.main_thread() and not isinstance(sys.exc_info()[1], SystemExit):
            self.exit_reason = None  # who still logs has caught it
        if self.is_over:
            self.say_once("over", "log() and note() after finish() are not sent")
        elif os.getpid() != self.pid:
            self.say_once("fork", "log() of a forked process is not sent: call smfleet.init() there")
        else:
            return True
        return False

    def put(self, record: Record) -> None:
        with self.changed:
            if len(self.queue) < MAX_QUEUED and self.spool.written < MAX_SPOOL_BYTES:
                self.queue.append(record)
                self.changed.notify()
                return
            self.dropped += 1
        self.say_once("dropped", "too much waits for the server or the disk ({}): what comes now is not kept".format(self.spool.path))

    def say_once(self, what: str, text: str) -> None:
        if what not in self.said and len(self.said) < 100:
            self.said.add(what)
            warn(text)

    # ---- the spool's thread ----

    def write(self) -> None:
        while True:
            with self.changed:
                while not self.queue and not self.is_over:
                    self.changed.wait()
                if not self.queue:
                    return
                record = self.queue[0]
            try:
                self.spool.put_record(record)
            except (OSError, ValueError) as error:
                self.say_once("disk", "{} cannot be written: {}; what is logged waits in memory".format(self.spool.path, error))
                if self.is_over:
                    self.dropped += len(self.queue)
                    return
                time.sleep(1)
                continue
            with self.changed:
                self.queue.popleft()

    # ---- the end ----

    def finish(self, status: Optional[str] = None, reason: Optional[str] = None, timeout_s: float = DRAIN_S) -> bool:
        """Sends what is left; False: not all of it is with the server, and it stays on disk."""
        if os.getpid() != self.pid:
            return False
        reason = reason or self.failure or (None if status else self.exit_reason)
        self.put({"s": "end", "status": status or ("Failed" if reason else "Completed"), "reason": reason, "ts": sm_ship.now_ms()})
        with self.changed:
            if self.is_over:
                return self.sender.result == 0
            self.is_over = True
            self.changed.notify()
        self.writer.join(timeout_s)
        self.sender.give_up_at = time.monotonic() + timeout_s
        self.spool.end()
        self.sender.thread.join(timeout_s + 1)
        if self.dropped:
            warn("{} records were not kept".format(self.dropped))
        if self.sender.result != 0:
            warn("not all is with the server: python -m smfleet sync {} sends the rest".format(self.spool.path))
        return self.sender.result == 0

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]) -> None:
        if isinstance(error, SystemExit):
            self.finish(reason=reason_of_exit(error.code))
        else:
            self.finish(reason="{}: {}".format(kind.__name__, error) if kind else None)


# ---- the run of this process ----------------------------------------------------------------------------------------

class Current:
    run: Optional[Run] = None
    hook: Any = None
    exit: Any = None
    has_warned = False


def command_of_this_process() -> Optional[List[str]]:
    is_script = bool(sys.argv and sys.argv[0] and os.path.isfile(sys.argv[0]) and "ipykernel" not in sys.modules)
    return [sys.executable or "python"] + sys.argv if is_script else None


def short(value: Any) -> str:
    return str(value)[:2500]


def init(job: Optional[str] = None, *, project: Optional[str] = None, config: Optional[Mapping[str, Any]] = None,
         tags: Optional[Mapping[str, Any]] = None, server: Optional[str] = None, token: Optional[str] = None,
         token_file: Optional[str] = None, ca_file: Optional[str] = None, stream: Optional[str] = None,
         resume: bool = False, dir: Optional[str] = None) -> Run:
    """Begins a run; what is not given comes from SMFLEET_JOB, SMFLEET_SERVER, SMFLEET_TOKEN, SMFLEET_TOKEN_FILE, the scheduler.
    The server need not be there: what is logged waits in `dir` (SMFLEET_SPOOL, ~/.cache/smfleet)."""
    finish()
    options = sm_ship.parse([], {key: value for key, value in os.environ.items() if key != "SMFLEET_SPOOL"})
    options.job = job or options.job
    options.stream = stream or options.stream
    options.command = command_of_this_process()
    identity = sm_ship.Identity(options, os.environ)
    if project and not identity.job.startswith(project + "/"):
        identity.job = "{}/{}".format(project, identity.job)
    if not is_name(identity.job):
        raise ValueError("'{}' is no name of a job: a printable text of 1 to {} bytes".format(identity.job, MAX_NAME_BYTES))
    pairs = [(key, value) for key, value in flatten(config or {}) if is_name(key)]
    identity.hyper_parameters.update({key: short(value) for key, value in pairs})
    identity.tags.update({str(key): str(value)[:256] for key, value in (tags or {}).items()})
    number = uuid.uuid4().hex[:12]
    if not identity.run_key and identity.process_count == 1:
        identity.run_key = "smfleet-" + number  # a second try at making the job finds the first one's
    urls, token_file = server or options.server, token_file or options.token_file
    connection = sm_ship.Server(urls, token_file, ca_file or options.ca_file, token or os.environ.get("SMFLEET_TOKEN"))
    folder = dir or default_folder()
    os.makedirs(folder, exist_ok=True)
    spool = FileSpool(os.path.join(folder, number + ".jsonl"), True)
    spool.write_header({"smfleet": 1, "id": number, "server": urls, "resume": resume, "started_ms": sm_ship.now_ms(),
                        "identity": vars(identity)})
    Current.run = Run(lambda kept: RunSender(connection, identity, kept, resume), spool)
    Current.hook, sys.excepthook = sys.excepthook, note_failure
    if Current.exit is None and "ipykernel" not in sys.modules:  # a notebook goes on behind it
        Current.exit, sys.exit = sys.exit, note_exit
    return Current.run


def note_failure(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    if Current.run:
        Current.run.failure = "{}: {}".format(kind.__name__, error)[:1000]
    (Current.hook or sys.__excepthook__)(kind, error, trace)


def reason_of_exit(code: Any) -> Optional[str]:
    """As the interpreter takes what sys.exit() is given: a text is printed, and the process exits with 1. None: all is well."""
    if code is None or (isinstance(code, int) and code == 0):
        return None
    return "exit code {}".format(code) if isinstance(code, int) else str(code)[:1000] or "exit code 1"


def note_exit(code: Any = None) -> NoReturn:
    """No hook of the interpreter sees a SystemExit."""
    if Current.run and threading.current_thread() is threading.main_thread():
        Current.run.exit_reason = reason_of_exit(code)
    Current.exit(code)
    raise SystemExit(code)


def log(values: Mapping[str, Any], step: Optional[int] = None) -> None:
    """Points of the current run, by name; without `step`, the one after the last. Never raises, never waits."""
    if Current.run:
        Current.run.log(values, step)
    elif not Current.has_warned:
        Current.has_warned = True
        warn("log() without smfleet.init() is not sent")


def note(text: str, step: Optional[int] = None) -> None:
    """A note at a step, or at this time. Never raises, never waits."""
    if Current.run:
        Current.run.note(text, step)


def finish(status: Optional[str] = None, reason: Optional[str] = None, timeout_s: float = DRAIN_S) -> bool:
    """Ends the current run; at the exit of the process this is done by itself."""
    run, Current.run = Current.run, None
    if not run:
        return True
    if sys.excepthook is note_failure:
        sys.excepthook = Current.hook
    return run.finish(status, reason, timeout_s)


atexit.register(finish)


# ---- what another process left behind -------------------------------------------------------------------------------

def send_spool(path: str, server: Optional[str], token_file: Optional[str], ca_file: Optional[str], timeout_s: float) -> int:
    """As sm_ship exits: 0 all is sent, and the file is gone; 3 the server is away; 4 it refuses."""
    spool = FileSpool(path, False)
    header = spool.header
    if header.get("smfleet") != 1:
        raise ValueError("is no spool of smfleet")
    identity = sm_ship.Identity.__new__(sm_ship.Identity)
    vars(identity).update(header["identity"])
    token = None if token_file else os.environ.get("SMFLEET_TOKEN")
    connection = sm_ship.Server(server or header["server"], token_file, ca_file, token)
    sender = RunSender(connection, identity, spool, header["resume"])
    sender.give_up_at = time.monotonic() + timeout_s
    sender.run()
    if sender.result == 0:
        warn("{}: {} points and {} notes are sent to the job '{}'".format(path, sender.sent_points, sender.sent_notes, sender.job))
    return sender.result
