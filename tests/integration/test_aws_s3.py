"""S3, by boto3: no bucket is there, and whatever asks for one is told so in S3's own XML; the page stays where it is."""

import xml.etree.ElementTree as ElementTree

import pytest

from awsclients import awscli, boto, code, token_of
from smserver import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("aws_s3")).start()
    yield one
    one.close()


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("aws_s3_locked")).start()
    keys = {scope: token_of(one, scope, "--scope", scope, "--aws")[1] for scope in ("admin", "read", "write")}
    yield one, keys
    one.close()


def test_there_are_no_buckets(server):
    reply = boto(server, "s3").list_buckets()
    assert reply["Buckets"] == [] and reply["Owner"] == {"ID": "root", "DisplayName": "root"}
    done = awscli(server, "s3", "ls")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_rest_is_refused(server):
    s3 = boto(server, "s3")
    for call, arguments, expected in [(s3.get_object, {"Bucket": "b", "Key": "k/x"}, "NoSuchBucket"), (s3.list_objects_v2, {"Bucket": "api"}, "NoSuchBucket"),
            (s3.put_object, {"Bucket": "b", "Key": "k", "Body": b"x" * 2_000_000}, "NoSuchBucket"), (s3.delete_object, {"Bucket": "b", "Key": "k"}, "NoSuchBucket"),
            (s3.create_multipart_upload, {"Bucket": "b", "Key": "k"}, "NoSuchBucket"), (s3.delete_bucket, {"Bucket": "b"}, "NoSuchBucket"),
            (s3.create_bucket, {"Bucket": "b"}, "NotImplemented"), (s3.head_bucket, {"Bucket": "b"}, "404")]:
        said, message = code(call, **arguments)
        assert said == expected and (said == "404" or "smfleet keeps no buckets" in message), (call, said, message)


def test_the_page_is_where_it_was(server):
    page = server.get("/", headers={"Accept": "text/html"})
    assert page.status == 200 and page.headers["Content-Type"].startswith("text/html")
    other = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=00"}
    assert server.get("/", headers=other).raw == page.raw, "of another service"
    assert server.put("/x", b"y").status == 404 and server.get("/x").status == 404
    reply = server.put("/x", b"y", headers={"Authorization": other["Authorization"].replace("/sts/", "/s3/")})
    root = ElementTree.fromstring(reply.raw)
    assert (reply.status, root.tag, root.find("Code").text) == (501, "Error", "NotImplemented")


def test_who_may_ask(locked):
    server, keys = locked
    for scope in ("admin", "read"):
        assert boto(server, "s3", keys[scope]).list_buckets()["Owner"]["ID"] == scope
    assert code(boto(server, "s3", keys["write"]).list_buckets)[0] == "AccessDenied"
    assert code(boto(server, "s3").list_buckets)[0] == "InvalidAccessKeyId"
    assert code(boto(server, "s3").get_object, Bucket="b", Key="k")[0] == "InvalidAccessKeyId"
    assert code(boto(server, "s3", (keys["read"][0], "wrong")).list_buckets)[0] == "SignatureDoesNotMatch"


def test_parameters_are_signed(locked):
    """As newer clients send them: ?x-id=ListBuckets, and a body that is not signed over TLS."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    server, keys = locked
    for query, tampered, status in (("x-id=ListBuckets", "x-id=ListBuckets", 200), ("prefix=a%20b%2F&max-buckets=3&x-id=ListBuckets", None, 200), ("x-id=ListBuckets", "x-id=Other", 403)):
        request = AWSRequest("GET", f"{server.url}/?{query}", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
        request.context["payload_signing_enabled"] = False
        S3SigV4Auth(Credentials(*keys["read"]), "s3", "us-east-1").add_auth(request)
        reply = server.get(f"/?{tampered or query}", headers=dict(request.headers.items()))
        assert reply.status == status, (query, reply)
