"""What a run has to send, on disk until the server has it: a file of records, and beside it how far they are sent.

RUN.jsonl   a line of what the run is, then a record a line: points, notes, the end
RUN.sent    the batch that is being sent (from which byte to which), and what the server had of each stream before it

A batch is written down before its first try. It is sent again as it was, with the offset that it had, so the server knows
it whenever that comes, also to another process.
"""

import json
import os
import sys
import tempfile
import threading
from typing import Any, Dict, Iterator, List, Optional, Tuple

import sm_ship

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Record = Dict[str, Any]


class SpoolInUse(Exception):
    """Another process sends it."""


def default_folder() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("SMFLEET_SPOOL") or os.path.join(cache, "smfleet")


def find_spools(paths: List[str]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for name in sorted(os.listdir(path)):
            if name.endswith(".jsonl"):
                yield os.path.join(path, name)


class FileSpool(sm_ship.Spool):
    """sm_ship's spool with a name, so that it outlives its process."""

    def __init__(self, path: str, is_new: bool) -> None:
        self.path = path
        self.file = open(path, "x+b" if is_new else "r+b")
        self.changed = threading.Condition()
        self.has_ended = not is_new
        self.end_record: Optional[Record] = None
        self.lock()
        self.header: Record = {}
        self.state: Record = {"job": None, "at": 0, "end": 0, "offsets": {}}
        if not is_new:
            self.load()
        self.written = os.fstat(self.file.fileno()).st_size if not is_new else 0
        self.taken = self.batch_end = self.state["at"]

    def lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            raise SpoolInUse(self.path)

    @property
    def state_path(self) -> str:
        return self.path[:-len(".jsonl")] + ".sent" if self.path.endswith(".jsonl") else self.path + ".sent"

    def load(self) -> None:
        try:
            self.header = json.loads(self.file.readline().decode())
        except ValueError:
            raise ValueError("is no spool of smfleet")
        self.state["at"] = self.file.tell()
        if os.path.exists(self.state_path):
            with open(self.state_path) as file:
                self.state = json.load(file)
        self.drop_torn()

    def drop_torn(self) -> None:
        """A record that was being written when its process was killed."""
        self.file.seek(0)
        whole = 0
        for line in self.file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
        self.file.truncate(whole)

    def write_header(self, header: Record) -> None:
        self.header = header
        self.put_record(header)
        self.taken = self.batch_end = self.state["at"] = self.written

    def put_record(self, record: Record) -> None:
        packed = json.dumps(record).encode() + b"\n"
        with self.changed:
            self.file.seek(self.written)
            self.file.write(packed)
            self.file.flush()
            self.written += len(packed)
            self.changed.notify()

    def keep_state(self) -> None:
        with self.changed:
            self.file.flush()
        os.fsync(self.file.fileno())
        folder, name = os.path.split(self.state_path)
        with tempfile.NamedTemporaryFile("w", dir=folder or ".", prefix=name, delete=False) as file:
            json.dump(self.state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self.state_path)

    def take(self) -> Optional[Tuple[Any, List[Record]]]:
        """As sm_ship's; a batch that was tried before comes first, and as it was."""
        if self.state["end"] > self.state["at"]:
            batch = self.read(self.state["at"], self.state["end"])
            self.batch_end = self.state["end"]
        else:
            with self.changed:  # a batch a second: each costs the disk
                self.changed.wait_for(lambda: self.has_ended or self.written - self.taken >= sm_ship.BATCH_BYTES, 1.0)
            took = sm_ship.Spool.take(self)
            if took is None or not took[1]:
                return took
            batch = took
            self.state["end"] = self.batch_end
            if batch[0] != "end":
                self.keep_state()
        if batch[0] == "end":  # nothing comes behind it
            self.end_record = batch[1][-1]
            self.release()
            return self.take()
        return batch

    def read(self, start: int, end: int) -> Tuple[Any, List[Record]]:
        with self.changed:
            self.file.seek(start)
            packed = self.file.read(end - start)
        records = [json.loads(line.decode()) for line in packed.splitlines()]
        return [record.pop("s", None) for record in records][0], records

    def release(self) -> None:
        with self.changed:
            self.taken = self.state["at"] = self.state["end"] = self.batch_end
        # the next batch writes it down; until then this one would be sent again, which the server knows

    def remove(self) -> None:
        """All of it is with the server."""
        with self.changed:
            self.file.close()
        for path in (self.path, self.state_path):
            if os.path.exists(path):
                os.remove(path)


def warn(text: str) -> None:
    try:
        sys.stderr.write("smfleet: {}\n".format(text))
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
