#!/usr/bin/env python3
"""Sends the lines of a training to an smfleet server while it runs. One file, Python 3.6 or newer, nothing to install.

    sm_ship.py [OPTION]... < INPUT              standard input, passed through to standard output
    sm_ship.py [OPTION]... FILE...              files, to their ends; several are streams of their own names
    sm_ship.py [OPTION]... -- COMMAND [ARG]...  a command's output; its exit status becomes ours

For machines that have no sm-ship: that one also follows files, goes on where a killed one stood, and survives its own
death without the training noticing. Options can be variables as well: SMFLEET_SERVER, SMFLEET_TOKEN_FILE (or SMFLEET_TOKEN), SMFLEET_JOB …
Lines wait in a file while the server is away, and are sent with the times at which they were read.
Exit status: 0 done, 2 usage, 3 server unreachable, 4 refused by the server; with COMMAND, COMMAND's own.
"""

import argparse
import http.client
import json
import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

VERSION = "0.1.0"
BATCH_BYTES = 256 << 10
LINGER_S = 0.2
MAX_LINE_BYTES = 60000  # longer lines become several
ENDED = ["Completed", "Failed", "Stopped"]
FAR_OFFSET = 1 << 61


def say(text):
    sys.stderr.write("sm_ship: {}\n".format(text))
    sys.stderr.flush()


def now_ms():
    return int(time.time() * 1000)


# ---- who is this training? The same answers as sm-ship gives --------------------------------------------------------

def first_set(environment, *names):
    for name in names:
        if environment.get(name):
            return environment[name]
    return None


def first_number(environment, *names):
    text = first_set(environment, *names)
    return int(text) if text and text.isdigit() else None


def training_environment(environment):
    """SageMaker's document of the container, or nothing."""
    try:
        document = json.loads(environment.get("SM_TRAINING_ENV", ""))
        return document if isinstance(document, dict) else {}
    except ValueError:
        return {}


def script_of(command):
    launchers = ("accelerate bash composer conda dash deepspeed env horovodrun ipython julia mpiexec mpirun nice node nohup "
                 "numactl poetry Rscript sh srun stdbuf time torchrun uv zsh").split()
    endings = re.compile(r"\.(py|sh|bash|R|jl|js|ipynb)$")
    name = os.path.basename(command[0])
    if name in launchers or name.startswith(("python", "pypy")):
        for i, argument in enumerate(command[1:], 1):
            if argument == "-c":
                break
            if argument == "-m" and i + 1 < len(command) and not command[i + 1].startswith("-"):
                return command[i + 1], i + 1
            if not argument.startswith("-") and endings.search(argument):
                return endings.sub("", os.path.basename(argument)), i
        return endings.sub("", name), len(command)
    return endings.sub("", name), 0


def settings_of(command):
    """The script's own --key value."""
    settings, i = {}, script_of(command)[1]
    while i < len(command):
        argument, i = command[i], i + 1
        if not argument.startswith("--") or argument in ("--",) or argument.startswith("--="):
            continue
        key, equals, value = argument[2:].partition("=")
        if not equals:
            value = "true"
            if i < len(command) and not re.match(r"-[^0-9.]|-$", command[i]):
                value, i = command[i], i + 1
        settings[key] = value
    return settings


def is_secret_name(name):
    """As the server has it for settings (server/base/secret.c)."""
    text = re.sub(r"[^a-z0-9]", "", name.lower())
    return (re.search("secret|passw|apikey|accesskey|privatekey|credential", text) is not None
            or ("token" in text and not re.search("tokeniz|tokens|(num|per)token|token(id|len|size|budget|count|limit|drop|rate|ratio|weight|loss"
                                                  "|embed|dispatch|choice|shift)", text)))


def is_secret_value(value):
    shapes = ("hf_", "sk-", "ghp_", "github_pat_", "glpat-", "AKIA", "ASIA", "xoxb-", "xoxp-", "whsec_", "smf_", "smf-")
    return len(value) >= 16 and value.startswith(shapes)


def command_line(command):
    """The command as a shell would take it, without its secrets: it becomes a tag, which everybody reads."""
    words, hides_next = [], False
    for argument in command:
        name, equals, value = argument.partition("=")
        hides = is_secret_name(name) or is_secret_value(value)
        if (hides_next and not re.match(r"-[^0-9.]|-$", argument)) or (not equals and is_secret_value(argument)):
            words.append("***")
            hides_next = False
            continue
        hides_next = hides and not equals and argument.startswith("-")
        words.append(shlex.quote(name) + "=***" if hides and equals else shlex.quote(argument))
    return " ".join(words)


class Identity:
    def __init__(self, options, environment):
        document = training_environment(environment)
        slurm_id = first_set(environment, "SLURM_JOB_ID")
        self.job = (options.job or document.get("job_name") or first_set(environment, "TRAINING_JOB_NAME")
                    or (slurm_id and "{}-{}".format(environment.get("SLURM_JOB_NAME") or "slurm", slurm_id))
                    or first_set(environment, "JOB_NAME") or self.name_by_script(options))
        self.stream = options.stream or first_set(environment, "SM_CURRENT_HOST") or self.choose_stream(environment)
        self.host = options.host or first_set(environment, "SLURMD_NODENAME", "NODE_NAME") or socket.gethostname()
        self.instance_type = options.instance_type or document.get("current_instance_type")
        self.instance_count = options.instance_count or first_number(environment, "SLURM_JOB_NUM_NODES") or len(document.get("hosts") or [])
        self.rank = first_number(environment, "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                 "JOB_COMPLETION_INDEX")
        if self.rank is None:
            host = re.match(r"algo-([1-9]\d*)$", environment.get("SM_CURRENT_HOST", ""))
            self.rank = int(host.group(1)) - 1 if host else 0
        self.process_count = (first_number(environment, "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
                              or max(self.instance_count, self.rank + 1))
        self.run_key = self.choose_run_key(environment, slurm_id)
        self.hyper_parameters = {key: value if isinstance(value, str) else json.dumps(value)
                                 for key, value in (document.get("hyperparameters") or {}).items()}
        self.hyper_parameters.update(settings_of(options.command) if options.command else {})
        self.hyper_parameters.update(pair.split("=", 1) for pair in options.hp)
        self.tags = {"owner": first_set(environment, "SLURM_JOB_USER", "USER"), "host": self.host,
                     "folder": os.getcwd(), "attempt": first_set(environment, "SLURM_RESTART_COUNT"),
                     "run_key": self.run_key,
                     "command": command_line(options.command) if options.command else None}
        self.tags.update(pair.split("=", 1) for pair in options.tag)

    @staticmethod
    def name_by_script(options):
        if options.command:
            name = script_of(options.command)[0]
        else:
            name = os.path.basename(options.files[0] if options.files else os.getcwd())
        return "{}-{}".format(name[:200] or "job", time.strftime("%Y%m%d-%H%M%S"))

    @staticmethod
    def choose_stream(environment):
        node = first_number(environment, "SLURM_NODEID", "JOB_COMPLETION_INDEX", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
        local_rank = first_number(environment, "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
        tasks = re.match(r"\d+", first_set(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE") or "")
        size = first_number(environment, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                            "SLURM_NTASKS_PER_NODE") or (int(tasks.group()) if tasks else 0)
        stream = "algo-{}".format((node or 0) + 1)
        is_one_of_several = local_rank is not None and (size > 1 or local_rank > 0)
        return "{}-r{}".format(stream, local_rank) if is_one_of_several else stream

    @staticmethod
    def choose_run_key(environment, slurm_id):
        if slurm_id:
            return "slurm-{}.{}.{}".format(slurm_id, environment.get("SLURM_STEP_ID") or "0",
                                           environment.get("SLURM_RESTART_COUNT") or "0")
        other = first_set(environment, "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID")
        return other if other != "none" else None

    def facts(self):
        """What the server is told of the run when it begins."""
        facts = {"job": self.job, "run_key": self.run_key, "hp": self.hyper_parameters,
                 "tags": {key: value for key, value in self.tags.items() if value},
                 "instance_type": self.instance_type, "instance_count": self.instance_count}
        return {key: value for key, value in facts.items() if value}


# ---- the server -----------------------------------------------------------------------------------------------------

class Refused(Exception):
    """The server does not want it, now or later; field: what of it."""

    def __init__(self, text, field=None):
        Exception.__init__(self, text)
        self.field = field


class Away(Exception):
    """The same request may succeed later; is_elsewhere: at another address even now."""

    def __init__(self, text, retry_after_s=0, is_elsewhere=False):
        Exception.__init__(self, text)
        self.retry_after_s = retry_after_s
        self.is_elsewhere = is_elsewhere


class Address:
    def __init__(self, url, token_file, ca_file, token=None):
        self.url = url
        parts = urllib.parse.urlsplit(url if "//" in url else "http://" + url)
        self.prefix = parts.path.rstrip("/")
        self.headers = {"User-Agent": "sm_ship.py/" + VERSION}
        if token_file:
            with open(token_file) as file:
                token = file.read().strip()
        if token:
            self.headers["Authorization"] = "Bearer " + token
        if parts.scheme == "https":
            self.connection = http.client.HTTPSConnection(parts.hostname, parts.port or 443, timeout=30,
                                                          context=ssl.create_default_context(cafile=ca_file))
        else:
            self.connection = http.client.HTTPConnection(parts.hostname, parts.port or 8080, timeout=30)

    def call(self, method, path, body=None, content_type="application/json", **more):
        """(status, document): 2xx, 404 and 409; the rest is Away or Refused. more: headers, Idempotency_Key=."""
        headers = dict(self.headers, **{name.replace("_", "-"): value for name, value in more.items()})
        if body is not None:
            headers["Content-Type"] = content_type
        for may_try_again in (self.connection.sock is not None, False):
            try:
                self.connection.request(method, self.prefix + path, body, headers)
                reply = self.connection.getresponse()
                raw = reply.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()
                if not may_try_again:  # a kept connection may just have been closed: that says nothing
                    raise Away("cannot reach {}: {}".format(self.url, error), is_elsewhere=True)
        try:
            document = json.loads(raw.decode("utf-8", "replace")) if raw else {}
        except ValueError:
            document = {}
        if reply.status < 300 or reply.status in (404, 409):
            return reply.status, document
        text = document.get("detail") or "the server answered with status {}".format(reply.status)
        if reply.status >= 500 or reply.status in (408, 429):
            retry_after = reply.getheader("Retry-After") or ""
            raise Away(text, int(retry_after) if retry_after.isdigit() else 0, reply.status == 503)
        raise Refused(text, document.get("field"))


class Server:
    """One database at one or more addresses: the one that answered last is asked, and the next one when it is away."""

    def __init__(self, urls, token_file, ca_file, token=None):
        self.url = urls
        self.addresses = [Address(url.strip(), token_file, ca_file, token) for url in urls.split(",")]

    def call(self, method, path, body=None, content_type="application/json", **more):
        """As Address has it."""
        for left in range(len(self.addresses), 0, -1):
            try:
                return self.addresses[0].call(method, path, body, content_type, **more)
            except Away as away:
                if away.is_elsewhere:
                    self.addresses[0].connection.close()
                    self.addresses.append(self.addresses.pop(0))
                if not away.is_elsewhere or left == 1:
                    raise

    def post(self, path, document):
        return self.call("POST", path, json.dumps(document).encode())


# ---- lines wait here ------------------------------------------------------------------------------------------------

class Spool:
    """A file of JSON records: one thread or more put, one takes. Its place is free again whenever all is sent."""

    def __init__(self, folder):
        self.file = tempfile.TemporaryFile(prefix="sm_ship-", dir=folder)
        self.changed = threading.Condition()
        self.written = self.taken = self.batch_end = 0
        self.has_ended = False

    def put(self, stream, line, ts_ms):
        record = {"s": stream, "line": line.rstrip(b"\n").decode("utf-8", "replace").replace("\0", "\ufffd")}
        if ts_ms:
            record["ts"] = ts_ms
        self.put_record(record)

    def put_record(self, record):
        packed = json.dumps(record).encode() + b"\n"
        with self.changed:
            self.file.seek(self.written)
            self.file.write(packed)
            self.written += len(packed)
            self.changed.notify()

    def end(self):
        with self.changed:
            self.has_ended = True
            self.changed.notify()

    def take(self):
        """(stream, records) of about BATCH_BYTES; None at the end; (0, []): nothing now."""
        with self.changed:
            if self.taken == self.written and not self.has_ended:
                self.changed.wait(LINGER_S)
            if self.written - self.taken < BATCH_BYTES and not self.has_ended:
                self.changed.wait(LINGER_S)
            if self.taken == self.written:
                return None if self.has_ended else (0, [])
            self.file.seek(self.taken)
            packed = self.file.read(min(BATCH_BYTES, self.written - self.taken))
            if not packed.endswith(b"\n"):
                packed += self.file.readline()
        records, stream = [], None
        self.batch_end = self.taken
        for line in packed.splitlines(True):
            record = json.loads(line.decode())
            if stream not in (None, record["s"]):
                break
            stream = record.pop("s")
            records.append(record)
            self.batch_end += len(line)
        return stream, records

    def release(self):
        """What take gave last is with the server."""
        with self.changed:
            self.taken = self.batch_end
            if self.taken == self.written:
                self.file.truncate(0)
                self.taken = self.written = self.batch_end = 0


# ---- sending --------------------------------------------------------------------------------------------------------

class Sender:
    """Calls made one after the other, each tried until it is done; nothing else waits for the server."""

    def __init__(self, server, identity, spool, streams, resumes, reads_files=False):
        self.server, self.identity, self.spool, self.streams, self.resumes = server, identity, spool, streams, resumes
        self.reads_files = reads_files  # whenever they were written: the server knows by the lines when the job began and ended
        self.job = identity.job
        self.started_ms = now_ms()
        self.offsets = {}
        self.source = "sm-ship-" + os.urandom(8).hex()  # what another machine sends into the stream does not count as ours
        self.full = set()  # streams that take no more sources
        self.give_up_at = None
        self.result = None
        self.outcome = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def say(self, text):
        say(text)

    def insist(self, call, *arguments, **more):
        wait_s, is_away = 0.25, False
        while True:
            try:
                return call(*arguments, **more)
            except Away as error:
                if self.give_up_at is not None and time.monotonic() >= self.give_up_at:
                    raise
                if not is_away:
                    self.say("{}; what was read is kept and sent when the server is back".format(error))
                is_away = True
                deadline = time.monotonic() + max(wait_s, min(error.retry_after_s, 300))
                while time.monotonic() < deadline and not (self.give_up_at and time.monotonic() >= self.give_up_at):
                    time.sleep(0.1)
                wait_s = min(wait_s * 2, 10)

    def path(self, rest):
        return "/api/v1/jobs/{}{}".format(urllib.parse.quote(self.job, safe=""), rest)

    def create(self):
        """The server chooses the run's name: a token that may only write cannot see which jobs have ended."""
        status, reply = self.insist(self.server.post, "/api/v1/sessions", dict(self.identity.facts(), resume=self.resumes))
        if status != 201:
            raise Refused(reply.get("detail") or "there is no such address; is it an smfleet server?")
        self.job = reply["job"]
        if self.job != self.identity.job:
            self.say("job '{}' has ended: this run is '{}' (--resume would go on with it)".format(self.identity.job, self.job))

    def tell(self, secondary_status, time_ms, unless, reason=None):
        change = {"SecondaryStatus": secondary_status}
        if time_ms:
            change["time_ms"] = time_ms
        if unless:
            change["unless"] = unless
        if reason:
            change["FailureReason"] = reason
        try:
            self.insist(self.server.post, self.path("/transitions"), change)
        except Refused as error:
            self.say("the server did not take the job's status: {}".format(error))

    def known_bytes(self, stream):
        """Where the source stands in the stream; a token that may only write is told, too: by the answer to an offset that leaves a gap."""
        query = dict(self.place(stream, stream), offset=FAR_OFFSET)
        try:
            reply = self.insist(self.server.call, "POST", "/api/v1/logs?" + urllib.parse.urlencode(query), b"\n", "text/plain")[1]
        except Refused as error:  # better counted with others than lost
            if error.field != "source" or stream in self.full:
                raise
            self.say("{}: its lines are counted without one".format(error))
            self.full.add(stream)
            return self.known_bytes(stream)
        return reply.get("next_offset", 0)

    def place(self, stream, counter):
        place = {"job": self.job, "stream": stream}
        return place if counter in self.full else dict(place, source=self.source)

    def send(self, stream, records):
        name = self.streams[stream]
        if name not in self.offsets:
            self.offsets[name] = self.known_bytes(name)
        sent = sum(len(record["line"].encode()) + 1 for record in records)
        self.deliver("/api/v1/logs", name, name, records, sent)

    def deliver(self, path, name, counter, records, sent):
        """counter: whose offset it is, which goes on by `sent` where the server does not say."""
        query = dict(self.place(name, counter), host=self.identity.host, offset=self.offsets[counter])
        body = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode("utf-8", "replace")
        status, reply = self.insist(self.server.call, "POST", path + "?" + urllib.parse.urlencode(query), body,
                                    "application/x-ndjson")
        if status == 404:
            raise Refused(reply.get("detail") or "there is no such address; is it an smfleet server?")
        if status == 409:  # another writer, or the stream was cut: the server says where to go on
            self.say(reply.get("detail"))
            self.offsets.pop(counter)
            if "next_offset" in reply:
                self.offsets[counter] = reply["next_offset"]
            return {}
        self.offsets[counter] = reply.get("next_offset", self.offsets[counter] + sent)
        self.spool.release()
        return reply

    def run(self):
        try:
            self.create()
            if not self.reads_files:
                self.tell("Training", self.started_ms, None if self.resumes else ENDED)
            while True:
                batch = self.spool.take()
                if batch is None:
                    break
                if batch[1]:
                    self.send(*batch)
            self.tell_end()
            self.result = 0
        except Away as error:
            self.say("server {} was not reached in time: {}".format(self.server.url, error))
            self.result = 3
        except Refused as error:
            self.say(error)
            self.result = 4

    def tell_end(self):
        secondary_status, reason = self.outcome
        is_failure = secondary_status == "Failed"
        if is_failure and self.identity.process_count > 1:
            reason = "{} on {} (rank {}): {}".format(self.identity.stream, self.identity.host, self.identity.rank, reason)
        has_opened = self.reads_files and self.resumes  # a job that had ended, perhaps: no other process would end it
        if self.identity.rank == 0 or is_failure or has_opened:
            failure = reason if secondary_status == "Failed" else None  # a stop was asked for
            self.tell(secondary_status, 0 if self.reads_files else now_ms(), ["Failed", "Stopped"], failure)


# ---- reading --------------------------------------------------------------------------------------------------------

def read_lines(source, stream, spool, out=None, has_times=True):
    for line in iter(lambda: source.readline(MAX_LINE_BYTES), b""):
        if out is not None:
            try:
                out.write(line)
                out.flush()
            except OSError:
                out = None  # nobody reads it any more; the server still does
        spool.put(stream, line, now_ms() if has_times else 0)


def run_command(command, spool):
    """(exit status, status of the job, reason)."""
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        reason = "cannot start {}: {}".format(command[0], error.strerror)
        say(reason)
        return 127 if isinstance(error, FileNotFoundError) else 126, "Failed", reason
    asked = []

    def pass_on(number, _frame):
        asked.append(number)
        child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    readers = [threading.Thread(target=read_lines, args=(pipe, 0, spool, out), daemon=True)
               for pipe, out in ((child.stdout, sys.stdout.buffer), (child.stderr, sys.stderr.buffer))]
    for reader in readers:
        reader.start()
    code = child.wait()
    for reader in readers:
        reader.join(5)  # a grandchild may hold the pipes for ever
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "signal {}".format(-code)
        return 128 - code, "Stopped" if -code in asked else "Failed", "killed by {}".format(name)
    if code and asked:
        return code, "Stopped", "exit code {}".format(code)
    return code, "Failed" if code else "Completed", "exit code {}".format(code) if code else None


def read_input(options, spool):
    """The status of the job: "Stopped" when a signal ended the reading."""
    def stop(number, _frame):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        if not options.files:
            read_lines(sys.stdin.buffer, 0, spool, sys.stdout.buffer)
        for i, path in enumerate(options.files):
            with open(path, "rb") as file:
                read_lines(file, i, spool, has_times=False)
    except KeyboardInterrupt:
        return "Stopped"
    return "Completed"


def parse(arguments, environment):
    command = None
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(prog="sm_ship.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)

    def option(name, text, fallback=None, **more):
        variable = "SMFLEET_" + name.upper().replace("-", "_")
        parser.add_argument("--" + name, help=text, default=environment.get(variable) or fallback, **more)

    option("server", "The smfleet server; several addresses of one database, separated by commas. [http://127.0.0.1:8080]", "http://127.0.0.1:8080", metavar="URL")
    option("token-file", "File with the token to show to the server; else SMFLEET_TOKEN.", metavar="FILE")
    option("ca-file", "Certificate authorities to trust for https, instead of the system's.", metavar="FILE")
    option("job", "Name of the job; else from the scheduler, else the script's name and the time.", metavar="NAME")
    option("stream", "Name of the stream of lines; else from the scheduler, else algo-1.", metavar="NAME")
    option("host", "Name of this machine.", metavar="NAME")
    option("instance-type", "Type of the machine, ml.p4d.24xlarge.", metavar="TYPE")
    option("instance-count", "How many machines the job has; else from the scheduler, or counted by the hosts that send.", type=int,
           metavar="N")
    option("spool", "Folder where lines wait for the server. [the system's for temporary files]", metavar="DIR")
    option("drain-timeout", "How long to go on trying when the input has ended, in seconds. [60]", 60, type=float,
           metavar="SECONDS")
    parser.add_argument("--hp", help="A hyperparameter.", action="append", default=[], metavar="K=V")
    parser.add_argument("--tag", help="A tag of the job.", action="append", default=[], metavar="K=V")
    parser.add_argument("--resume", help="Write to the job even when it has ended; else it becomes NAME-2.", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args(arguments)
    options.command = command
    if command is not None and (not command or options.files):
        parser.error("either FILEs or -- COMMAND, not both" if command else "-- without a COMMAND")
    for name, pair in [("hp", pair) for pair in options.hp] + [("tag", pair) for pair in options.tag]:
        if pair.find("=") < 1:
            parser.error("--{} '{}' is not of the form NAME=VALUE".format(name, pair))
    for path in options.files:
        if not os.access(path, os.R_OK):
            parser.error("cannot read '{}'".format(path))
    if options.spool:
        os.makedirs(options.spool, exist_ok=True)
    return options


def stream_names(options, identity):
    if len(options.files) < 2:
        return [identity.stream]
    return [os.path.basename(path) for path in options.files]


def main(arguments, environment):
    options = parse(arguments, environment)
    identity = Identity(options, environment)
    try:
        server = Server(options.server, options.token_file, options.ca_file, environment.get("SMFLEET_TOKEN"))
        spool = Spool(options.spool)
    except (OSError, ValueError) as error:
        say(error)
        return 2
    sender = Sender(server, identity, spool, stream_names(options, identity), options.resume, bool(options.files))
    sender.thread.start()
    code = None
    if options.command:
        code, status, reason = run_command(options.command, spool)
    else:
        status, reason = read_input(options, spool), None
    sender.outcome = (status, reason)
    sender.give_up_at = time.monotonic() + options.drain_timeout
    spool.end()
    sender.thread.join()
    return sender.result if code is None else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
