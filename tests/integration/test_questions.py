"""The questions that the query language was made for, asked of the demonstration's fleet: by REST and by sm-search, the same answers."""

import json
import subprocess
import sys

import pytest

from smserver import PATIENCE_S, ROOT, Server, quote, wait_until

FAILED, LOWEST = "llama-13b-sft-lr8e-5", "llama-13b-sft-lr5e-5"

# Each term of the contract's example, with the names of the fleet: jobs that it finds, and jobs that it leaves out.
TERMS = {
    "status:failed": ({FAILED, "moe-16x1b-lr-sweep-7"}, {LOWEST}),
    "loss.last>3": ({FAILED, LOWEST}, {"alpaca-sft-warm-a"}),
    '(name~"llama-.*" or tag.team=nlp)': ({FAILED, "titan-8b-fsdp"}, {"olmo-1b-tied"}),
    "started>-7d": ({FAILED, "olmo-1b-tied"}, set()),
    "hp.lr<=1e-4": ({FAILED, LOWEST, "alpaca-sft-warm-a"}, {"llama-7b-pretrain-0412"}),
    "instance=ml.p4d.24xlarge": ({FAILED, LOWEST, "gpt2-124m-nanogpt"}, {"titan-8b-fsdp"}),
    's3:"s3://corpora-nlp/redpajama"': ({FAILED, LOWEST, "llama-7b-pretrain-0412"}, {"titan-8b-fsdp"}),
    'log:"NCCL timeout"': ({FAILED, "olmo-1b-tied"}, {LOWEST}),
    "not pool:available": ({FAILED, "olmo-1b-tied"}, {LOWEST}),
}
TOGETHER = " ".join(TERMS)
LOWEST_LOSS = 's3:"s3://corpora-nlp/redpajama" hp.lr<1e-4 instance:p4d'


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("fleet")).start()
    demo = subprocess.Popen([sys.executable, str(ROOT / "deploy/demo.py"), "--url", server.url], stderr=subprocess.PIPE)

    def is_told():
        row = server.get(f"/api/v1/jobs?q={quote(f'name={LOWEST} status=completed loss.best<4')}").body["jobs"]
        return row and rest(server, f"name={FAILED} status=failed loss.last>3") and rest(server, "name=moe-16x1b-lr-sweep-7 status=failed")
    try:
        wait_until(is_told, what="the fleet's history")
        yield server
    finally:
        demo.terminate()
        told = demo.communicate(timeout=PATIENCE_S)[1]
        server.close()
    assert told == b""


def rest(server, query, sort=""):
    reply = server.get(f"/api/v1/jobs?q={quote(query)}&limit=100" + (f"&sort={sort}" if sort else ""))
    assert reply.status == 200, reply
    return [row["TrainingJobName"] for row in reply.body["jobs"]]


def shell(server, query, *options):
    done = subprocess.run([server.bin("sm-search"), query, "--ndjson", "--limit", "100", "--server", server.url, *options], capture_output=True,
        text=True, timeout=PATIENCE_S)
    assert done.returncode in (0, 1) and done.stderr == "", done
    return [json.loads(line)["TrainingJobName"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("term", TERMS)
def test_each_term_alone(fleet, term):
    found, left_out = TERMS[term]
    names = set(wait_until(lambda: found <= set(rest(fleet, term)) and rest(fleet, term), what=f"what {term} finds"))
    assert found <= names and not left_out & names
    assert set(shell(fleet, term)) == names


def test_all_together(fleet):
    assert rest(fleet, TOGETHER) == [FAILED]
    assert shell(fleet, TOGETHER) == [FAILED]
    assert shell(fleet, f"{TOGETHER} status:completed") == []


def test_whose_log_says_it(fleet):
    done = subprocess.run([fleet.bin("sm-search"), TOGETHER, "--logs", "NCCL timeout", "--server", fleet.url], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout.startswith(f"{FAILED}/algo-1:") and done.stdout.rstrip().endswith("DistBackendError: NCCL timeout")


def test_which_job_reached_the_lowest_loss(fleet):
    assert rest(fleet, LOWEST_LOSS, "loss.best") == [LOWEST, FAILED]
    assert shell(fleet, LOWEST_LOSS, "--sort", "loss.best", "--limit", "1") == [LOWEST]
    def listed():
        done = subprocess.run([fleet.bin("sm-search"), LOWEST_LOSS, "--sort", "loss.best", "--fields", "name,hp.lr,loss.best", "--csv", "--server",
            fleet.url], capture_output=True, text=True, timeout=PATIENCE_S)
        lines = done.stdout.splitlines()
        return all(line.rpartition(",")[2] for line in lines) and lines

    # what jobs are ranked by is worked out behind their summaries
    head, first, second = wait_until(listed, what="the best of both")
    assert head == "name,hp.lr,loss.best" and first.startswith(f"{LOWEST},5e-05,") and second.startswith(f"{FAILED},8e-05,")
    assert float(first.rpartition(",")[2]) < float(second.rpartition(",")[2])
