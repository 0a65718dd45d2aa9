"""What real logs hold is told, and nothing else: every page of these was judged by reading the log (docs/detection.md)."""

import os
import pathlib

import pytest

LOGS = pathlib.Path(os.environ.get("SM_LOGS", pathlib.Path(__file__).resolve().parents[3] / "shared/logs"))
FOLDERS = "nanogpt|megatron-chronicle|megatron-golden-json|hf-trainer-state|catboost|gluoncv-detection"

# Job, metric, kind: the steps at which they open. Pages of series only.
PAGES = {
    ("megatron-chronicle/bloom176b_chronicles", "train:grad_norm", "grad_spike"): [31216],
    ("megatron-chronicle/bloom176b_chronicles", "train:loss", "loss_spike"): [31219],
    ("megatron-chronicle/tr1_13b_chronicles", "train:loss", "loss_spike"): [29050],
    ("megatron-chronicle/tr8_104b_chronicles", "train:loss", "loss_spike"): [8743],
    ("megatron-chronicle/tr8b_104b_chronicles", "train:loss", "loss_spike"): [17062],
    ("megatron-golden-json/mixtral8x7b_h100", "lm loss", "loss_spike"): [2360, 2830, 3800, 3850, 4260, 4970],
    ("nanogpt/termux_char_nan", "train:loss", "non_finite"): [425],
}
MARKS = {("megatron-chronicle/tr8_104b_chronicles", 8741), ("megatron-chronicle/tr8_104b_chronicles", 11448)}


@pytest.mark.skipif(not LOGS.is_dir(), reason=f"there are no real logs in {LOGS} (SM_LOGS)")
def test_what_real_logs_hold_is_told_and_nothing_else(server, ship):
    assert ship.run("--import", f"{LOGS}/(?<job>(?:{FOLDERS})/[^/]+)[.]log").returncode == 0
    server.restart()  # what was handed over is on disk then
    rows = server.get("/api/v1/incidents?limit=1000").body["incidents"]
    pages = {}
    for row in sorted(rows, key=lambda row: row["opened_step"]):
        if row["metric"] and row["severity"] != "info":
            pages.setdefault((row["job"], row["metric"], row["kind"]), []).append(row["opened_step"])
    assert pages == PAGES
    assert MARKS <= {(row["job"], row["opened_step"]) for row in rows}
