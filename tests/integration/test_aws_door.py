"""The door of AWS's clients itself: who is let in by which signature, and bodies as they may come."""

import datetime
import gzip
import json

import pytest

from awsclients import boto, code, token_of
from engine import of_a_file
from smserver import Server

TARGET = {"X-Amz-Target": "SageMaker.ListTrainingJobs"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with tokens: (server, admin's token, admin's keys)."""
    server = Server(tmp_path_factory.mktemp("aws_door")).start()
    yield (server, *token_of(server, "root", "--scope", "admin", "--aws"))
    server.close()


def type_of(reply):
    return json.loads(reply.raw)["__type"]


def test_signatures(guarded):
    server, token, (key, secret) = guarded
    assert boto(server, "sagemaker", (key, secret)).list_training_jobs()["TrainingJobSummaries"] == []
    assert boto(server, "sagemaker", (key, secret), aws_session_token="ignored").list_training_jobs()["TrainingJobSummaries"] == []
    assert code(boto(server, "sagemaker", (key, secret + "x")).list_training_jobs)[0] == "InvalidSignatureException"
    said, message = code(boto(server, "sagemaker", ("AKIAIOSFODNN7EXAMPLE", secret)).list_training_jobs)
    assert said == "UnrecognizedClientException" and "AKIAIOSFODNN7EXAMPLE" in message
    reply = server.post("/", "{}", headers=TARGET)
    assert (reply.status, type_of(reply)) == (403, "MissingAuthenticationTokenException")
    assert server.post("/", "{}", headers=TARGET, token=token).status == 200, "a token as everywhere"
    reply = server.post("/", "{}", headers=TARGET, token="smf_wrong")
    assert (reply.status, type_of(reply)) == (403, "UnrecognizedClientException")
    reply = server.post("/", "{}", headers={**TARGET, "Authorization": "AWS4-HMAC-SHA256 Credential=x"})
    assert (reply.status, type_of(reply)) == (403, "IncompleteSignatureException")


def signed(server, keys, body, at, **headers):
    from botocore import auth, awsrequest, credentials

    class Then(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return at

    request = awsrequest.AWSRequest("POST", server.url + "/", headers={**TARGET, **headers}, data=body)
    before, auth.datetime.datetime = auth.datetime.datetime, Then
    try:
        auth.SigV4Auth(credentials.Credentials(*keys), "sagemaker", "us-east-1").add_auth(request)
    finally:
        auth.datetime.datetime = before
    return server.post("/", body, headers=dict(request.headers.items()))


def test_clock_and_what_is_signed(guarded):
    server, _, keys = guarded
    now = datetime.datetime.utcnow()
    assert signed(server, keys, "{}", now).status == 200
    assert signed(server, keys, "{}", now - datetime.timedelta(minutes=2)).status == 200
    for offset, words in ((-3600, "Signature expired"), (3600, "Signature not yet current")):
        reply = signed(server, keys, "{}", now + datetime.timedelta(seconds=offset))
        assert type_of(reply) == "InvalidSignatureException" and words in json.loads(reply.raw)["message"]
    packed = gzip.compress(b'{"MaxResults":1}')
    assert signed(server, keys, packed, now, **{"Content-Encoding": "gzip"}).status == 200, "the hash is of the packed body"
    reply = signed(server, keys, "{}", now, **{"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert type_of(reply) == "InvalidSignatureException"


def test_scopes_and_teams(guarded):
    server, token, _ = guarded
    reader = boto(server, "sagemaker", token_of(server, "reader", "--scope", "read", "--aws")[1])
    writer = boto(server, "sagemaker", token_of(server, "writer", "--scope", "write", "--team", "nlp", "--aws")[1])
    assert token_of(server, "plain")[1] == (None, None)
    name = {"TrainingJobName": "guarded"}
    job = {**name, "RoleArn": "arn:aws:iam::123456789012:role/trainer", "OutputDataConfig": {"S3OutputPath": "s3://b/p"},
        "AlgorithmSpecification": {"TrainingInputMode": "File"}, "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}}
    said, message = code(reader.create_training_job, **job)
    assert said == "AccessDeniedException" and "'write'" in message
    writer.create_training_job(**job)
    assert code(writer.describe_training_job, **name)[0] == "AccessDeniedException"
    assert reader.describe_training_job(**name)["TrainingJobName"] == "guarded"
    assert server.get("/api/v1/jobs/guarded", token=token).body["team"] == "nlp"
    made = server.post("/api/v1/tokens", json={"name": "other", "scope": "write", "team": "vision", "aws": True}, token=token).body
    other = boto(server, "sagemaker", (made["aws_access_key_id"], made["aws_secret_access_key"]))
    for _ in range(2):  # also where it stops already, and where it has ended
        said, message = code(other.stop_training_job, **name)
        assert said == "AccessDeniedException" and "another team" in message and "nlp" not in message
        writer.stop_training_job(**name)
    assert server.post("/api/v1/jobs/guarded/transitions", json={"SecondaryStatus": "Stopped"}, token=token).status == 204
    assert code(other.stop_training_job, **name)[0] == "AccessDeniedException"
    assert server.delete("/api/v1/tokens/other", token=token).status == 204
    assert code(other.stop_training_job, **name)[0] == "UnrecognizedClientException"
    assert "aws" not in json.dumps(server.get("/api/v1/tokens", token=token).body)


@of_a_file("a server of a database of PostgreSQL is refused without its key")
def test_keys_outlive_a_restart_and_need_the_key_file(make_server):
    server = make_server(start=False)
    keys = token_of(server, "root", "--scope", "admin", "--aws")[1]
    server.start()
    assert boto(server, "sagemaker", keys).list_training_jobs()["TrainingJobSummaries"] == []
    server.stop()
    (server.folder / "smfleet.db.key").unlink()
    server.start()
    assert code(boto(server, "sagemaker", keys).list_training_jobs)[0] == "InvalidSignatureException"


def test_an_open_server_takes_any_signature(server):
    assert boto(server, "sagemaker").list_training_jobs()["TrainingJobSummaries"] == []
    reply = server.post("/", "{}", headers={**TARGET, "Origin": "http://evil.example"})
    assert reply.status == 403, "but no other site's page"
    reply = server.post("/", "{}", headers={**TARGET, "Host": "fleet.example:80"})
    assert (reply.status, type_of(reply)) == (421, "MisdirectedRequestException") and "fleet.example" in reply.body


def test_bodies(make_server):
    server = make_server("--max-aws-bytes", "64KiB")
    body = b'{"NameContains":"x"}'
    for encoding, packed in (("gzip", gzip.compress(body)), ("identity", body), ("", body)):
        assert server.post("/", packed, headers={**TARGET, "Content-Encoding": encoding}).status == 200
    assert server.post("/", iter([body[:5], body[5:]]), headers=TARGET).status == 200, "chunked"
    fits = body.ljust(64 << 10)
    assert server.post("/", fits, headers=TARGET).status == 200
    reply = server.post("/", fits + b" ", headers=TARGET)
    assert (reply.status, type_of(reply)) == (413, "RequestEntityTooLargeException") and reply.headers["x-amzn-RequestId"]
    assert "--max-aws-bytes" in reply.body
    assert server.post("/", gzip.compress(fits), headers={**TARGET, "Content-Encoding": "gzip"}).status == 200
    reply = server.post("/", gzip.compress(fits + b" "), headers={**TARGET, "Content-Encoding": "gzip"})
    assert (reply.status, type_of(reply)) == (413, "RequestEntityTooLargeException") and "--max-aws-bytes" in reply.body
    for encoding in ("aws-chunked", "br"):
        reply = server.post("/", body, headers={**TARGET, "Content-Encoding": encoding})
        assert (reply.status, type_of(reply)) == (415, "UnsupportedMediaTypeException")
    reply = server.post("/", gzip.compress(body)[:-9], headers={**TARGET, "Content-Encoding": "gzip"})
    assert reply.status == 400 and reply.headers["x-amzn-RequestId"]
    assert server.post("/", "", headers=TARGET).status == 200, "no members at all"
    assert server.post("/?x=1", "{}", headers=TARGET).status == 400
    server.assert_clean()


def test_the_interface_tells_of_the_door(guarded):
    paths = guarded[0].get("/api/v1/openapi.json").body["paths"]
    assert "post" in paths["/"] and "put" in paths["/BatchPutMetrics"] and "/service/{service}/operation/{operation}" in paths


def test_who_is_asking(guarded):
    """What tools ask first to see whether their credentials are good."""
    server, _, keys = guarded
    said = boto(server, "sts", keys).get_caller_identity()
    assert (said["Account"], said["UserId"], said["Arn"]) == ("000000000000", "root", "arn:aws:iam::000000000000:user/root")
    assert code(boto(server, "sts", ("AKIAIOSFODNN7EXAMPLE", keys[1])).get_caller_identity)[0] == "InvalidClientTokenId"
    assert code(boto(server, "sts", keys).get_session_token)[0] == "InvalidAction"


def test_who_is_asking_where_nobody_needs_a_key(server):
    assert boto(server, "sts").get_caller_identity()["Arn"] == "arn:aws:iam::000000000000:root"
