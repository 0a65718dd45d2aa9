"""sm-ship --import of what W&B and MLflow export of runs as CSV: a chart, a run's history, the history of metrics."""

import csv
import io
import os
import random
import threading

import pytest
from howlong import long
from shipping import job, lines
from smserver import quote, wait_until

WRITTEN = 1715000000  # 2024-05-06T12:53:20Z


@pytest.fixture
def server(emptied_server):
    return emptied_server


def write(path, text, *, mark=b""):
    path.write_bytes(mark + text.encode())
    os.utime(path, (WRITTEN, WRITTEN))


def as_csv(rows, *, quoting=csv.QUOTE_MINIMAL, end="\n"):
    out = io.StringIO()
    csv.writer(out, quoting=quoting, lineterminator=end).writerows(rows)
    return out.getvalue()


def series(server, name):
    reply = server.get(f"/api/v1/jobs/{quote(name)}/metrics")
    return {row["metric"]: row["count"] for row in reply.body["series"]} if reply.status == 200 else {}


def points(server, name, metric):
    """[(step, time, value)]; NaN and the infinities are their names."""
    rows = server.points(name, metric, raw="true")["series"]
    assert [row["stream"] for row in rows] == ["algo-1"]
    return list(zip(rows[0]["step"], rows[0]["ts_ms"], rows[0]["value"], strict=True))


def wait_for(server, name, counts):
    wait_until(lambda: series(server, name) == counts, what=f"the points of '{name}'")


def jobs(server):
    return {row["TrainingJobName"] for row in server.get("/api/v1/jobs?limit=500").body["jobs"]}


def ends_of(server, name):
    document = job(server, name)
    return document["TrainingJobStatus"], document["TrainingStartTime"], document["TrainingEndTime"]


def chart_head(metric, *runs):
    return ["Step"] + [f"{run} - {metric}{bound}" for run in runs for bound in ("", "__MIN", "__MAX")]


FIRST, SECOND = 'llama, 7b "v2"', "sweep - 3"  # a comma and quotes; a dash as the export's own


def make_chart(path, **options):
    cells = {0: ("2.5", ""), 10: ("NaN", "1.5"), 20: ("Infinity", ""), 30: ("-Infinity", "1e-3")}
    rows = [chart_head("train/loss", FIRST, SECOND)]
    rows += [[step, first, first, first, second, second, second] for step, (first, second) in cells.items()]
    write(path, as_csv(rows, quoting=csv.QUOTE_ALL, end=options.pop("end", "\n")), **options)


def test_a_chart_of_wandb_is_a_job_a_run(server, ship, tmp_path):
    make_chart(tmp_path / "wandb_export.csv", mark=b"\xef\xbb\xbf", end="\r\n")
    when = WRITTEN * 1000
    for _ in range(2):  # again: nothing is doubled
        result = ship.run("--import", f"{tmp_path}/.+[.]csv")
        errors = result.stderr.decode()
        assert result.returncode == 0 and "2 jobs of 1 files" in errors, errors
        assert errors.count("bears no times: all its points are of 2024-05-06T12:53:20.000Z (assumed") == 1, errors
        wait_for(server, FIRST, {"train/loss": 4})
        wait_for(server, SECOND, {"train/loss": 2})
        assert points(server, FIRST, "train/loss") == [(0, when, 2.5), (10, when, "NaN"), (20, when, "Infinity"), (30, when, "-Infinity")]
        assert points(server, SECOND, "train/loss") == [(10, when, 1.5), (30, when, 0.001)]  # an empty cell is no point
        for name in (FIRST, SECOND):
            assert ends_of(server, name) == ("Completed", WRITTEN, WRITTEN) and lines(server, name) == []


def test_charts_of_two_metrics_are_one_job(server, ship, tmp_path):
    for metric, values in (("loss", (3, 2)), ("val - acc", (0.5, 0.75))):
        rows = [["Step", f"pair - {metric}"]] + [[step, value] for step, value in enumerate(values)]
        write(tmp_path / f"{metric}.csv", as_csv(rows))
    result = ship.run("--import", f"{tmp_path}/(?<job>loss)[.]csv")
    assert result.returncode == 0, result.stderr
    write(tmp_path / "lr.csv", as_csv([chart_head("lr", "pair"), [0, 0.1, 0.1, 0.1]]))
    result = ship.run("--import", f"{tmp_path}/(loss|lr)[.]csv")
    assert result.returncode == 0 and b"1 jobs of 2 files" in result.stderr, result.stderr
    wait_for(server, "pair", {"loss": 2, "lr": 1})
    assert "loss" not in jobs(server), "the run names the job"
    write(tmp_path / "loss(1).csv", as_csv([["Step", "pair - loss"], [0, 3]]))
    result = ship.run("--import", f"{tmp_path}/loss.*[.]csv")
    assert result.returncode == 2 and b"both hold 'loss' of run 'pair'" in result.stderr


def test_what_a_copy_made_just_now_says_is_an_hour_old(server, ship, tmp_path):
    (tmp_path / "now.csv").write_text('"Step","fresh - loss"\n"0","1"\n')
    os.utime(tmp_path / "now.csv")
    written = os.stat(tmp_path / "now.csv").st_mtime * 1000
    assert ship.run("--import", f"{tmp_path}/now[.]csv").returncode == 0
    wait_for(server, "fresh", {"loss": 1})
    (point,) = points(server, "fresh", "loss")
    assert written - 3_600_000 - 1000 <= point[1] <= written - 3_600_000 + 120_000


def test_a_history_of_wandb_has_its_own_times(server, ship, tmp_path):
    """As pandas writes run.history(): an index without a name, metrics that are empty where they were not logged, media."""
    rows = [["", "_step", "_runtime", "_timestamp", "train/loss", "val,acc", "system.gpu.0.temp", "examples"]]
    rows += [[i, 5 * i, 0.5 + i, f"{1.7e9 + 60 * i:.3f}", 2 - i / 10, 0.5 if i == 3 else "", 40 + i, '{"_type": "table-file", "rows": 2}' if i == 2 else ""]
             for i in range(5)]
    write(tmp_path / "history.csv", as_csv(rows))
    for _ in range(2):
        result = ship.run("--import", f"{tmp_path}/(?<job>history)[.]csv")
        errors = result.stderr.decode()
        assert result.returncode == 0 and "assumed" not in errors, errors
        assert "1 cell is no number, the first in line 4, column 'examples'" in errors, errors
        wait_for(server, "history", {"train/loss": 5, "val,acc": 1, "system.gpu.0.temp": 5})
        assert points(server, "history", "train/loss") == [(5 * i, 1_700_000_000_000 + 60_000 * i, 2 - i / 10) for i in range(5)]
        assert points(server, "history", "val,acc") == [(15, 1_700_000_180_000, 0.5)]
        assert ends_of(server, "history") == ("Completed", 1.7e9, 1.7e9 + 240)


def test_a_history_without_times_and_with_pandas_floats(server, ship, tmp_path):
    write(tmp_path / "keys.csv", "_step,loss\n0.0,1.0\n1.0,nan\n2.0,inf\n")
    result = ship.run("--import", f"{tmp_path}/keys[.]csv", "--job", "keys")
    assert result.returncode == 0 and b"(assumed" in result.stderr, result.stderr
    wait_for(server, "keys", {"loss": 3})
    assert points(server, "keys", "loss") == [(0, WRITTEN * 1000, 1), (1, WRITTEN * 1000, "NaN"), (2, WRITTEN * 1000, "Infinity")]


def test_metrics_of_mlflow_are_a_job_a_run(server, ship, tmp_path):
    """As MLflow's page writes them: run by run and metric by metric, no line end at the end."""
    ids = ("0a" * 16, "b1" * 16)
    rows = [["run_id", "key", "value", "step", "timestamp"]]
    rows += [[ids[0], "loss", 2 - i, i, 1_700_000_000_000 + 1000 * i] for i in range(3)]
    rows += [[ids[1], "loss", 3, 0, 1_700_000_100_000], [ids[1], "lr", "1e-4", 7, 1_700_000_160_500]]
    rows += [[ids[0], "lr", 0.5, 1, 1_700_000_001_000]]  # the first run again
    write(tmp_path / "metrics.csv", as_csv(rows).rstrip("\n"))
    for _ in range(2):
        result = ship.run("--import", f"{tmp_path}/metrics[.]csv")
        assert result.returncode == 0 and b"2 jobs of 1 files" in result.stderr and b"assumed" not in result.stderr, result.stderr
        wait_for(server, ids[0], {"loss": 3, "lr": 1})
        wait_for(server, ids[1], {"loss": 1, "lr": 1})
        assert points(server, ids[0], "loss") == [(i, 1_700_000_000_000 + 1000 * i, 2 - i) for i in range(3)]
        assert points(server, ids[1], "lr") == [(7, 1_700_000_160_500, 0.0001)]
        assert ends_of(server, ids[0]) == ("Completed", 1.7e9, 1.7e9 + 2)
        assert ends_of(server, ids[1]) == ("Completed", 1.7e9 + 100, 1.7e9 + 160.5)


def test_metrics_of_mlflow_without_a_run_are_the_files_job(server, ship, tmp_path):
    write(tmp_path / "client.csv", "key,value,timestamp,step\nloss,2,1700000000000,0\nloss,1,1700000005000,1\n")
    result = ship.run("--import", f"{tmp_path}/(?<job>client)[.]csv")
    assert result.returncode == 0, result.stderr
    wait_for(server, "client", {"loss": 2})
    result = ship.run("--import", f"{tmp_path}/client[.]csv")
    assert result.returncode == 2 and b"has no group (?<job>" in result.stderr


def mlflow_table(rows):
    return as_csv([["run_id", "key", "value", "step", "timestamp"]] + [["grown", "loss", 2, i, 1_700_000_000_000 + 1000 * i] for i in range(rows)])


def wandb_table(rows):
    return as_csv([["_step", "_timestamp", "loss"]] + [[i, 1_700_000_000 + i, 2] for i in range(rows)])


@pytest.mark.parametrize("table", [mlflow_table, wandb_table])
def test_a_table_that_is_imported_again_is_said_to_be_there(server, ship, tmp_path, table):
    """80 rows, again the same, 20 more: what is new is counted."""
    for rows, words in ((80, None), (80, "all 80 lines and points were there already"), (100, "80 of 100 lines and points were there already, 20 are new")):
        write(tmp_path / "grown.csv", table(rows))
        result = ship.run("--import", f"{tmp_path}/grown[.]csv", "--job", *(["grown"] if table is wandb_table else ["ignored"]))
        errors = result.stderr.decode()
        assert result.returncode == 0, errors
        assert words in errors if words else "there already" not in errors, errors
        wait_for(server, "grown", {"loss": rows})


@pytest.mark.parametrize("name, text, counts, words", [
    ("cut", '"Step","cut - loss"\n"0","1"\n"1"', {"loss": 1}, "line 3: 1 columns, where the head has 2 (1 line was passed over)"),
    ("open", '"Step","open - loss"\n"0","1"\n"1","0.', {"loss": 1}, "line 3: a quote that begins in it has no end"),
    ("odd", "Step,odd - loss\n0,1\nx,2\n\n0.5,3\n3,4,5\n4,5\n", {"loss": 2}, "line 3: 'x' in column 'Step' is no step (3 lines were passed over)"),
    ("wide", "Step,wide - loss\n0,1\n1," + "2" * 2000 + "\n", {"loss": 1}, "line 3 has more than 1024 bytes (see --row-bytes)"),
])
def test_lines_that_cannot_be_read_are_named(server, ship, tmp_path, name, text, counts, words):
    write(tmp_path / f"{name}.csv", text)
    result = ship.run("--import", f"{tmp_path}/{name}[.]csv", "--row-bytes", "1KiB")
    errors = result.stderr.decode()
    assert result.returncode == 4 and words in errors and f"{name}.csv'" in errors, errors
    assert "1 runs were not read whole" in errors
    wait_for(server, name, counts)


@pytest.mark.parametrize("text, words", [
    ('"Relative Time (Wall)","r - loss","r - loss__MIN","r - loss__MAX"\n"0.5","1","1","1"\n', b"export it with Step as its x axis"),
    ('Step,"r - lo\nss"\n0,1\n', b"is a chart of W&B's without any point"),
    ("run_id,key,value,step,timestamp\n", b"is a table of metrics of MLflow's without any point"),
])
def test_tables_without_points_are_refused(ship, tmp_path, text, words):
    write(tmp_path / "none.csv", text)
    result = ship.run("--import", f"{tmp_path}/none[.]csv")
    assert result.returncode == 2 and words in result.stderr, result.stderr


@long
def test_a_chart_of_hundreds_of_runs(server, ship, tmp_path):
    """Its head is far longer than the first bytes of a file by which other files are known."""
    names = [f"run-{i:03}-{'x' * 40}" for i in range(120)]
    rows = [chart_head("loss", *names)] + [[step] + [value for i in range(120) for value in [step + i / 8] * 3] for step in range(3)]
    write(tmp_path / "many.csv", as_csv(rows, quoting=csv.QUOTE_ALL))
    result = ship.run("--import", f"{tmp_path}/many[.]csv", "--spool-bytes", "4KiB")
    assert result.returncode == 0 and b"120 jobs of 1 files" in result.stderr, result.stderr
    for i in (0, 77, 119):
        wait_for(server, names[i], {"loss": 3})
        assert points(server, names[i], "loss") == [(step, WRITTEN * 1000, step + i / 8) for step in range(3)]


def test_an_import_of_a_table_that_was_killed_goes_on(server, ship, tmp_path):
    rows = 20_000
    write(tmp_path / "killed.csv", "_step,_timestamp,loss,lr\n" + "".join(f"{i},{1.7e9 + i},{i % 7},0.5\n" for i in range(rows)))
    pause, chance = threading.Event(), random.Random()
    for _ in range(4):
        process = ship.start("--import", f"{tmp_path}/(?<job>killed)[.]csv", "--spool-bytes", "128KiB")
        pause.wait(chance.random() / 2)
        process.kill()
        process.communicate()
    assert ship.run("--import", f"{tmp_path}/(?<job>killed)[.]csv").returncode == 0
    wait_until(lambda: min(series(server, "killed").values(), default=0) >= rows, what="all points")
    assert series(server, "killed") == {"loss": rows, "lr": rows}
    assert ends_of(server, "killed") == ("Completed", 1.7e9, 1.7e9 + rows - 1)


def test_a_log_that_holds_commas_is_a_log(server, ship, tmp_path):
    write(tmp_path / "plain.log", "step,loss,lr\n1,2,3\n")
    assert ship.run("--import", f"{tmp_path}/(?<job>plain)[.]log").returncode == 0
    assert lines(server, "plain") == ["step,loss,lr", "1,2,3"]


STREAMS_MOST = 4096


def test_more_streams_than_a_job_may_have_are_refused(server, ship, tmp_path):
    """Tables fill the places of streams, and logs come behind them: the first that has no place is named, and nothing is sent."""
    for i in range(STREAMS_MOST - 1):
        (tmp_path / f"a{i:04}").write_text("_step,_timestamp,loss\n0,1700000000,2\n")
    for i in range(2):
        (tmp_path / f"z{i}").write_text("2023-11-14T22:13:20Z step 0\n")
    result = ship.run("--import", f"{tmp_path}/(?<stream>[az].+)", "--job", "many")
    assert result.returncode == 4, result.stderr[-2000:]
    assert f"'{tmp_path}/z1' is one stream too many: at most {STREAMS_MOST} are sent" in result.stderr.decode()
    assert jobs(server) == set()
