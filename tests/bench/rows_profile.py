#!/usr/bin/env python3
"""
Where the processor time of small posts goes: nanoseconds a line and a request, by stage, as perf samples the server.

    tests/bench/run --only profile
    tests/bench/rows_profile.py [--mb N] [--wide] [--symbols STAGE]      # the same without the limit program

A sample is of the stage of the innermost function on its stack that STAGES names, else of its thread and the library it is in: most
libraries keep no frame pointers, and a stack ends there. Functions that the compiler has put into their callers are of their caller's
stage. Left out where perf may not sample.
"""

import argparse
import collections
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import harness
import table
from rows_ingest import LOADS
from smserver import Server, wait_until
from table import Line, Row

HZ, MB = 2000, 100
STAGES = {
    "split": ("plain_feed", "batch_keep", "batch_add_kept"),
    "head": ("admit", "request_parse_target", "copy_header", "upload_begin", "exchange_new", "router_find"),
    "reply": ("make_response", "MHD_queue_response", "response_each_header", "upload_finish", "send_reply"),
    "end of a request": ("end_exchange", "exchange_release", "upload_abort"),
    "to the writer": ("pipeline_submit",),
    "plan": ("plan_batch", "plan_open", "plan_publish"),
    "journal, packed": ("journal_pack",),
    "journal, its row": ("store_append_journal",),
    "commit": ("store_tx_begin", "store_tx_commit", "store_checkpoint"),
    "answers": ("end_round", "finish_ingest", "http_upload_resume"),
    "prefix": ("line_view_set", "line_view_prefix"),
    "presets": ("guide_segment", "guide_hear", "ask_formats"),
    "match": ("match_segment",),
    "steps and attempts": ("place_found", "place_step"),
    "times of lines": ("line_effective_ms", "stretches_add", "life_signs_see"),
    "series and points": ("consume_series_of", "take_found", "consume_point"),
    "detectors": ("detector_set_feed",),
    "rules, derived, others": ("watchers_feed", "stragglers_note", "consume_derived"),
    "silences": ("silences_feed",),
    "signatures": ("signs_feed",),
    "settings, status, scores": ("consume_settings", "consume_status", "log_scores_feed"),
    "blocks, made": ("seal_make_blocks", "block_lay_out"),
    "blocks, packed": ("block_compress",),
    "search filters": ("log_filter_pack",),
    "chunks": ("seal_make_chunks", "seal_copy_series"),
    "pyramids": ("pyramid_plan_series", "pyramid_plan_run", "pyramid_sweep"),
    "rows of what is sealed": ("seal_write_blocks", "seal_write_chunks"),
}
SYSTEM_CALL = ("do_syscall_64", "entry_SYSCALL_64_after_hwframe")
ACROSS = { # innermost functions, or any of the stack
    "allocation": (False, ("malloc", "calloc", "realloc", "cfree", "_int_malloc", "_int_free", "_int_realloc", "__libc_calloc", "unlink_chunk",
        "malloc_consolidate")),
    "copies and clearing": (False, ("__memmove", "__memset", "_copy_", "copy_")),
    "wake-ups and locks": (True, ("do_futex", "eventfd_write", "pthread_mutex", "pthread_cond")),
    "system calls": (True, SYSTEM_CALL),
}
LIBRARIES = {"libsqlite3": "SQLite", "libzstd": "zstd", "libmicrohttpd": "libmicrohttpd", "[JIT]": "PCRE2", "libpcre2": "PCRE2"}
STAGE_OF = {name: stage for stage, names in STAGES.items() for name in names}


def may_sample():
    """Is perf there, and may it look at a process of ours?"""
    perf = shutil.which("perf")
    return bool(perf) and subprocess.run([perf, "record", "-o", os.devnull, "true"], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode == 0


def read_frame(line):
    """"  55e0 plan_batch.part.0 (/usr/bin/sm-server)": the function without what the compiler appends to a part of one, and the file."""
    symbol, _, file = line.split(None, 1)[1].rpartition(" (")
    return symbol.partition(".")[0].partition("@")[0], file.rstrip(")").rpartition("/")[2]


def read_samples(path):
    """(thread, frames from the innermost outward) of each sample."""
    text = subprocess.run(["perf", "script", "-i", str(path), "-F", "comm,ip,sym,dso", "--no-inline"], check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True).stdout
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if lines:
            yield lines[0].strip(), [read_frame(line) for line in lines[1:]]


def rest_of(thread, frames):
    library = next((name for _, file in frames for begin, name in LIBRARIES.items() if file.startswith(begin)), None)
    is_call = any(symbol in SYSTEM_CALL for symbol, _ in frames)
    return f"{thread}: {library or ('the kernel' if is_call else 'the rest')}"


def stage_of(thread, frames):
    return next((STAGE_OF[symbol] for symbol, _ in frames if symbol in STAGE_OF), None) or rest_of(thread, frames)


def count_samples(path):
    stages, across, symbols = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
    for thread, frames in read_samples(path):
        stage = stage_of(thread, frames)
        stages[stage] += 1
        symbols[stage][frames[0][0] if frames else "?"] += 1
        for what, (is_deep, begins) in ACROSS.items():
            across[what] += any(symbol.startswith(begins) for symbol, _ in (frames if is_deep else frames[:1]))
    return stages, across, {stage: counts.most_common(8) for stage, counts in symbols.items()}


def record(server, folder):
    return subprocess.Popen(["perf", "record", "-q", "-F", str(HZ), "-g", "-p", str(server.process.pid), "-o", str(folder / "perf.data")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure_kind(bench, kind):
    bench.say(f"profile of {kind}: {bench.options.mb} MB")
    folder = bench.folder / kind
    folder.mkdir()
    server = Server(folder).start()
    load = harness.start_load(server, kind, harness.CATCH_UP_S, [*LOADS[kind], "--bytes", int(bench.options.mb * harness.MB)])
    before, perf = harness.process_cpu(server.process.pid), record(server, folder)
    result = harness.end_load(load)
    wait_until(lambda: harness.is_caught_up(server), harness.CATCH_UP_S, "extraction to catch up")
    harness.settle(server)
    spent_s = harness.process_cpu(server.process.pid) - before
    perf.send_signal(signal.SIGINT)
    perf.wait()
    server.stop(harness.CATCH_UP_S)
    stages, across, symbols = count_samples(folder / "perf.data")
    return {"cpu_s": spent_s, "bytes": result["bytes"], "lines": result["lines"], "requests": result["requests"], "stages": stages,
        "across": across, "symbols": symbols}


def measure_profile(bench):
    if not may_sample():
        bench.say("profile: left out, perf is not there or may not sample")
        return {}
    if not hasattr(bench.options, "mb"):
        bench.options.mb = MB
    return {kind: measure_kind(bench, kind) for kind in getattr(bench.options, "kinds", ("small", "wide"))}


def report_kind(kind, found):
    samples = sum(found["stages"].values())
    each_ns = found["cpu_s"] * 1e9 / samples
    title = f"profile of {kind}: {found['cpu_s'] / (found['bytes'] / harness.GB):.1f} CPU s a GB, {samples} samples"
    lines = [Line(title, "ns a line", "ns a request", "share")]
    parts = [*collections.Counter(found["stages"]).most_common(), *((f"in all: {what}", count) for what, count in found["across"].items())]
    for stage, count in parts:
        if count / samples >= 0.003:
            lines.append(Line(f"  {stage}", f"{count * each_ns / found['lines']:.0f}", f"{count * each_ns / found['requests']:.0f}",
                f"{count / samples:.1%}"))
    return lines


def report_profile(found, bench):
    return [line for kind, figures in found.items() for line in report_kind(kind, figures)]


def main():
    parser = argparse.ArgumentParser(description="Where the processor time of small posts goes.")
    parser.add_argument("--mb", type=float, default=MB, help="text to send (100)")
    parser.add_argument("--wide", action="store_true", help="1024 streams instead of 32")
    parser.add_argument("--symbols", help="also the functions where the samples of that stage are")
    parser.add_argument("--dir", default=harness.ROOT / "build")
    options = parser.parse_args()
    options.kinds = ("wide",) if options.wide else ("small",)
    base = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=options.dir)).resolve()
    bench = SimpleNamespace(folder=base, options=options, say=lambda text: print(f"… {text}", file=sys.stderr, flush=True))
    try:
        found = measure_profile(bench)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    table.print_table(report_profile(found, bench))
    for figures in found.values():
        for symbol, count in figures["symbols"].get(options.symbols, []):
            print(f"    {count:6} {symbol}")
    print(f"load average {os.getloadavg()[0]:.1f}")


ROWS = [Row("profile", measure_profile, report_profile)]

if __name__ == "__main__":
    main()
