"""Signatures of faults and rules of advice of one's own, over those of the program, and files of them that keep it from starting."""

import json
import subprocess

import pytest

from smserver import PATIENCE_S, wait_until
from test_hosts import XID, ship

OWN = {"name": "rack_door", "title": "The rack's door is open", "pattern": r"rackd: door of (?<host>[\w-]+) open", "severity": "critical", "about": "node", "drain": True,
    "cause": "Somebody is at it.", "action": "Close it.", "source": "wiki/racks"}
RULE = {"name": "house_batch", "severity": "warning", "field": "house", "when": "house > 4", "text": "{house} is more than the 4 of the house", "reason": "It is so.", "source": "wiki/batches"}
QUANTITIES = {"house": {"keys": ["hp.house_size"], "default": 0}}


def write(folder, document):
    path = folder / "own.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def wait_for_faults(server, names, *lines, host="gpu-7"):
    """What lines of this machine are found to be."""
    ship(server, "j", host, ["step: 1 loss: 2.0", *lines])
    wait_until(lambda: {row["signature"] for row in server.get("/api/v1/nodes/gpu-7").body["fault_kinds"]} == names, what=f"the faults {names}")


def test_a_signature_beside_those_of_the_program(make_server, tmp_path):
    server = make_server("--signatures-file", write(tmp_path, {"signatures": [OWN]}))
    wait_for_faults(server, {"rack_door", "xid_79"}, "rackd: door of gpu-7 open", XID)


def test_of_two_that_match_ones_own_counts_and_its_name_replaces(make_server, tmp_path):
    server = make_server("--signatures-file", write(tmp_path, {"signatures": [OWN | {"name": "any_xid", "pattern": "NVRM: Xid"}]}))
    wait_for_faults(server, {"any_xid"}, XID)
    alone = make_server("--signatures-file", write(tmp_path, {"replace": True, "signatures": [OWN | {"name": "xid_79"}]}))
    wait_for_faults(alone, {"xid_79"}, XID, "rackd: door of gpu-7 open", host="gpu-8")


def test_advice(make_server, tmp_path):
    server = make_server("--advice-file", write(tmp_path, {"rules": [RULE], "quantities": QUANTITIES}))
    document = {"TrainingJobName": "j", "HyperParameters": {"house_size": "5", "tensor_parallel_degree": "3"}, "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2}}
    assert server.post("/api/v1/jobs", json=document).status == 201
    said = {one["rule"]: one["text"] for one in server.get("/api/v1/jobs/j/advice").body["advice"]}
    assert said["house_batch"] == "5 is more than the 4 of the house" and "tensor_parallel_power_of_two" in said


@pytest.fixture
def server(shared_server):
    return shared_server


@pytest.mark.parametrize("option, document, words", [
    ("signatures", {"signatures": [OWN | {"pattern": "("}]}, ["signatures[0].pattern"]),
    ("signatures", {"signatures": [{key: value for key, value in OWN.items() if key != "cause"}]}, ["signatures[0].cause is missing or empty"]),
    ("signatures", {"signatures": [OWN | {"severe": 1}]}, ["signatures[0] ('rack_door')", "'severe'"]),
    ("signatures", {"signatures": [OWN, OWN]}, ["signatures[1] ('rack_door')", "another entry of this name"]),
    ("signatures", {"signatures": [OWN | {"severity": "bad"}]}, ["signatures[0].severity is none of"]),
    ("signatures", {"signatures": [OWN | {"name": f"n{n}"} for n in range(80)]}, ["197 patterns, not 1 to 190"]),
    ("signatures", '{"signatures": [\n{"name": x}]}', ["line 2"]),
    ("advice", {"rules": [RULE]}, ["rule 'house_batch'", "house"]),
    ("advice", {"rules": [RULE | {"when": "tp >"}]}, ["rule 'house_batch'"]),
    ("advice", {"rules": [{key: value for key, value in RULE.items() if key != "text"}], "quantities": QUANTITIES}, ["rule 'house_batch' has no text"]),
    ("advice", {"quantities": {"house": {"key": ["hp.house"]}}}, ["quantities 'house'", "'key'"]),
    ("advice", {"rule": []}, ["'rule' is no member of it"]),
    ("advice", {"rules": [RULE | {"severity": "fatal"}], "quantities": QUANTITIES}, ["rule 'house_batch'", "none of info, warning, critical"]),
    ("advice", {"rules": [RULE | {"text": "{hose} is more"}], "quantities": QUANTITIES}, ["rule 'house_batch'", "{hose}"]),
    ("advice", {"rules": [RULE | {"text": "{house is more"}], "quantities": QUANTITIES}, ["rule 'house_batch'", "a { without a }"]),
    ("advice", {"quantities": {"house": {"keys": "hp.house"}}}, ["quantities 'house'", "'keys'"]),
    ("signatures", {"signatures": [OWN | {"drain": "yes"}]}, ["signatures[0] ('rack_door')", "another kind of value in 'drain'"]),
    ("signatures", '{"signatures": [], "signatures": []}', ["'signatures' is there twice"]),
    ("signatures", {"replace": "yes", "signatures": [OWN]}, ["'replace' is neither true nor false"]),
])
def test_a_file_that_is_wrong_keeps_it_from_starting(server, tmp_path, option, document, words):
    path = write(tmp_path, document)
    done = subprocess.run([server.bin("sm-server"), "--insecure", "--db", str(tmp_path / "x.db"), f"--{option}-file", path], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode and f"--{option}-file {path}" in done.stderr and all(word in done.stderr for word in words), done.stderr
