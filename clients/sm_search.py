#!/usr/bin/env python3
"""Searches the jobs of an smfleet server. One file, Python 3.6 or newer, nothing to install.

    sm_search.py 'status:failed loss.last>3 started>-7d'

Options can be variables as well: SMFLEET_SERVER, SMFLEET_TOKEN_FILE (or SMFLEET_TOKEN), SMFLEET_CA_FILE.
Exit status: 0 done, 1 nothing matched, 2 usage or a query with a mistake, 3 server unreachable, 4 refused by the server.
"""

import argparse
import csv
import json
import os
import re
import shutil
import ssl
import sys
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request

VERSION = "0.1.0"
PAGE_ROWS = 1000
ALIASES = {"name": "TrainingJobName", "status": "TrainingJobStatus", "secondary": "SecondaryStatus", "reason": "FailureReason",
           "created": "CreationTime", "started": "TrainingStartTime", "ended": "TrainingEndTime",
           "modified": "LastModifiedTime", "instance": "ResourceConfig.InstanceType",
           "instances": "ResourceConfig.InstanceCount", "pool": "WarmPoolStatus.Status",
           "billable": "BillableTimeInSeconds", "incidents": "open_incidents", "lines": "lines", "streams": "streams"}
TIMES = ("created", "started", "ended", "modified")
ROLES = ("loss", "eval_loss", "throughput", "grad_norm", "learning_rate", "mfu", "step_time", "reward", "kl", "entropy",
         "response_length", "clip_fraction", "rollout_time", "benchmark")
FIGURES = ("last", "min", "max", "mean", "count", "step", "best", "best_step", "final")
NUMBERS = ("instances", "billable", "incidents", "lines", "streams", "step", "age", "duration") + ROLES


class Failure(Exception):
    def __init__(self, code, text, column=0):
        Exception.__init__(self, text)
        self.code, self.column = code, column


# ---- one field of a job, by the names of the query language ---------------------------------------------------------

def main_of(row, *roles):
    """Of the first of these roles that a metric answers for."""
    return next((metric for role in roles for metric in row.get("metrics") or [] if metric.get("is_main") and metric.get("role") == role), None)


def metric_of(row, name, may_be_role):
    found = next((metric for metric in row.get("metrics") or [] if metric.get("metric") == name), None)
    return found or (main_of(row, name) if may_be_role else None)


def step_of(row):
    """By the axis of its loss, else of its eval loss; without, the furthest of any of its metrics but a benchmark's."""
    lead = main_of(row, "loss", "eval_loss")
    steps = [metric.get("last_step") for metric in ([lead] if lead else row.get("metrics") or []) if metric.get("role") != "benchmark"]
    return max((step for step in steps if step is not None and step >= 0), default=None)


def metric_field(row, field):
    may_be_role = not field.startswith("metric.")
    name, figure = field if may_be_role else field[len("metric."):], "last"
    metric = metric_of(row, name, may_be_role)
    if metric is None and name.rpartition(".")[2] in FIGURES:
        name, _, figure = name.rpartition(".")
        metric = metric_of(row, name, may_be_role)
    return metric and metric.get("last_step" if figure == "step" else figure)


def tag_of(row, key):
    return next((tag.get("Value") for tag in row.get("Tags") or [] if tag.get("Key") == key), None)


def seconds_of(row, field):
    start = row.get("TrainingStartTime") or (field == "age" and row.get("CreationTime"))
    end = field == "duration" and row.get("TrainingEndTime")
    return max(0, int((end or time.time()) - start)) if start else None


def field_of(row, field):
    if "fields" in row:  # as the server says; how it looks is ours
        return row["fields"].get(field)
    if field == "step":
        return step_of(row)
    if field.startswith("tag."):
        return tag_of(row, field[4:])
    if field in ("owner", "project"):
        return tag_of(row, field)
    if field.startswith("hp."):
        return (row.get("HyperParameters") or {}).get(field[3:])
    if field in ("age", "duration"):
        return seconds_of(row, field)
    by_hand = (row.get("by_hand") or {}).get({"instance": "instance_type", "instances": "nodes"}.get(field))
    if by_hand is not None:  # somebody set it right
        return by_hand
    value = row
    for part in ALIASES.get(field, field).split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None and field not in ALIASES:
        value = metric_field(row, field)
    return value


def number_text(value, is_for_people):
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return "{:.4g}".format(value) if is_for_people else repr(value)


def duration_text(seconds):
    if seconds < 60:
        return "{}s".format(seconds)
    if seconds < 3600:
        return "{}m".format(seconds // 60)
    if seconds < 86400:
        return "{}h{:02}m".format(seconds // 3600, seconds // 60 % 60)
    return "{}d{:02}h".format(seconds // 86400, seconds // 3600 % 24)


def text_of(row, field, is_for_people):
    value = field_of(row, field)
    if value is None:
        return ""
    if field in TIMES and isinstance(value, (int, float)):
        if not is_for_people:
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(value))
        at = time.localtime(value)
        return time.strftime("%m-%d %H:%M" if at.tm_year == time.localtime().tm_year else "%Y-%m-%d %H:%M", at)
    if field in ("age", "duration") and is_for_people:
        return duration_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value, is_for_people) if value - value == 0 else str(value)
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def is_number(field):
    return field in NUMBERS or field.startswith("metric.") or field.rpartition(".")[0] in ROLES


# ---- the server -----------------------------------------------------------------------------------------------------

def get(options, parameters):
    """Of several addresses the first that is not away."""
    servers = [server.strip() for server in options.server.split(",")]
    for server in servers[:-1]:
        try:
            return get_from(server, options, parameters)
        except Failure as failure:
            if failure.code != 3:
                raise
    return get_from(servers[-1], options, parameters)


def get_from(server, options, parameters):
    url = server if "//" in server else "http://" + server
    query = urllib.parse.urlencode([(name, value) for name, value in parameters if value])
    request = urllib.request.Request("{}/api/v1/jobs?{}".format(url.rstrip("/"), query))
    request.add_header("User-Agent", "sm_search.py/" + VERSION)
    token = options.token
    if options.token_file:
        with open(options.token_file) as file:
            token = file.read().strip()
    if token:
        request.add_header("Authorization", "Bearer " + token)
    context = ssl.create_default_context(cafile=options.ca_file) if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as reply:
            page = json.loads(reply.read().decode())
    except urllib.error.HTTPError as error:
        raise failure_of(error)
    except (OSError, ValueError) as error:
        raise Failure(3, "cannot reach {}: {}".format(server, getattr(error, "reason", error)))
    if not isinstance(page, dict) or not isinstance(page.get("jobs"), list):
        raise Failure(3, "{} did not answer with a list of jobs: is it an smfleet server?".format(server))
    return page


def failure_of(error):
    try:
        problem = json.loads(error.read().decode())
    except ValueError:
        problem = {}
    code = 2 if error.code in (400, 422) else 3 if error.code >= 500 or error.code in (408, 429) else 4
    text = problem.get("detail") or "the server answered with status {}".format(error.code)
    return Failure(code, text, problem.get("column") or 0)


def pages(options):
    rest, cursor = options.limit or float("inf"), None
    while rest > 0:
        page = get(options, [("q", options.query), ("sort", options.sort), ("limit", int(min(rest, PAGE_ROWS))),
                             ("fields", options.fields), ("cursor", cursor), ("total", "true" if cursor is None else "")])
        page["jobs"] = page["jobs"][:int(min(rest, PAGE_ROWS))]
        yield page
        rest -= len(page["jobs"])
        cursor = page.get("next_cursor")
        if not cursor:
            return
    if not options.is_limit_asked:
        sys.stderr.write("sm_search: there are more jobs than these {}: --limit 0 prints all\n".format(options.limit))


# ---- printing -------------------------------------------------------------------------------------------------------

def safe(text):
    """A name must not command the terminal."""
    return "".join("?" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u200e\u200f\u202a\u202b\u202c\u202d"
                   "\u202e\u2066\u2067\u2068\u2069" else c for c in text)


def columns_of(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def print_table(fields, rows):
    table = [fields] + [[safe(text_of(row, field, True)) for field in fields] for row in rows]
    widths = [max(columns_of(line[i]) for line in table) for i in range(len(fields))]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    while room and sum(widths) + 2 * (len(widths) - 1) > room:
        texts = [i for i, field in enumerate(fields) if not is_number(field) and widths[i] > 8]
        if not texts:
            break
        widths[max(texts, key=lambda i: widths[i])] -= 1
    for line in table:
        cells = []
        for field, text, width in zip(fields, line, widths):
            if columns_of(text) > width:
                while columns_of(text) > width - 1:
                    text = text[:-1]
                text += "…"
            space = " " * (width - columns_of(text))
            cells.append(space + text if is_number(field) else text + space)
        print("  ".join(cells).rstrip())


def names_of(fields):
    """Parted by commas, but for those in quotes: metric."a,b".min"""
    return [name.strip() for name in re.findall(r'(?:[^",]|"(?:\\.|[^"\\])*")+', fields) if name.strip()]


def json_row(row, options):
    if not options.fields:
        return row
    return {field: field_of(row, field) if is_number(field) or isinstance(field_of(row, field), (int, float)) and field not in TIMES
            else text_of(row, field, False) or None for field in names_of(options.fields)}


def run(options):
    """How many rows there were, or jobs for --count."""
    fields = names_of(options.fields or "name,status,loss,step,lines,started,age")
    if not fields:
        raise Failure(2, "--fields names no field")
    if options.format == "count":
        options.limit = 1
        total = next(pages(options)).get("total", 0)
        print(total)
        return total
    total, rows = None, []
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if options.format == "csv":
        writer.writerow(fields)
    count = 0
    for page in pages(options):
        total = page.get("total", total)
        count += len(page["jobs"])
        for row in page["jobs"]:
            if options.format == "ndjson":
                print(json.dumps(json_row(row, options), separators=(",", ":"), ensure_ascii=False))
            elif options.format == "csv":
                writer.writerow([text_of(row, field, False) for field in fields])
            else:
                rows.append(row)
    if options.format == "json":
        print(json.dumps({"jobs": [json_row(row, options) for row in rows], "total": total}, separators=(",", ":"),
                         ensure_ascii=False))
    elif options.format == "table" and rows:
        print_table(fields, rows)
    return count


def parse(arguments, environment):
    parser = argparse.ArgumentParser(prog="sm_search.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query", nargs="*", metavar="QUERY")
    parser.add_argument("--server", metavar="URL", help="The smfleet server; several addresses of one database, separated by commas. [http://127.0.0.1:8080]",
                        default=environment.get("SMFLEET_SERVER") or "http://127.0.0.1:8080")
    parser.add_argument("--token-file", metavar="FILE", help="File with the token to show to the server; else SMFLEET_TOKEN.",
                        default=environment.get("SMFLEET_TOKEN_FILE"))
    parser.add_argument("--ca-file", metavar="FILE", help="Certificate authorities to trust for https.",
                        default=environment.get("SMFLEET_CA_FILE"))
    parser.add_argument("--sort", metavar="FIELD", help="Order, such as loss or -started; - puts the largest first.")
    parser.add_argument("--limit", metavar="N", type=int, default=None, help="At most so many jobs; 0: all. [50]")
    parser.add_argument("--fields", metavar="A,B", help="What to print: name,status,loss.min,hp.lr,tag.team …")
    one_of = parser.add_mutually_exclusive_group()
    for name, text in (("table", "An aligned table; what a terminal gets."), ("csv", "What a pipe or file gets."),
                       ("json", "One document."), ("ndjson", "One object a job and line."), ("count", "Only how many match.")):
        one_of.add_argument("--" + name, dest="format", action="store_const", const=name, help=text)
    # a query may begin with "-": what is no option of ours is part of it
    options, words = parser.parse_known_args(arguments)
    unknown = [word for word in words if word.startswith("--")]
    if unknown:
        parser.error("there is no option {}".format(unknown[0]))
    options.is_limit_asked = options.limit is not None
    if not options.is_limit_asked:
        options.limit = 50
    if options.limit < 0:
        parser.error("--limit {} is less than 0".format(options.limit))
    options.query = " ".join(options.query + words)
    options.token = environment.get("SMFLEET_TOKEN")
    options.format = options.format or ("table" if sys.stdout.isatty() else "csv")
    return options


def main(arguments, environment):
    options = parse(arguments, environment)
    try:
        return 0 if run(options) else 1
    except Failure as failure:
        sys.stderr.write("sm_search: {}\n".format(failure))
        if failure.column and failure.column <= len(options.query.encode()) + 1:
            before = options.query.encode()[:failure.column - 1].decode("utf-8", "replace")
            sys.stderr.write("  {}\n  {}^\n".format(safe(options.query), " " * columns_of(before)))
        return failure.code
    except OSError as error:
        sys.stderr.write("sm_search: {}\n".format(error))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
