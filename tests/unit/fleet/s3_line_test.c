#include "fleet/s3_line.h"
#include "test.h"

#include <stdio.h>

/* As the programs print them: LogFormat.html of S3's user guide; awscli/customizations/s3/results.py; boto3/s3/transfer.py; s5cmd's log/error.go;
   mountpoint-s3's doc/TROUBLESHOOTING.md and doc/LOGGING.md; the Go, Java and Rust SDKs. */
static const struct {
	const char *line, *bucket, *key;
	enum s3_kind kind;
	bool is_slow_down;
	int64_t ts_ms;
} told[] = {
	{"79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be awsexamplebucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 "
	 "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be DD6CC733AEXAMPLE REST.PUT.OBJECT s3-dg.pdf \"PUT "
	 "/awsexamplebucket1/s3-dg.pdf HTTP/1.1\" 200 - - 4406583 41754 28 \"-\" \"S3Console/0.4\" -",
		"awsexamplebucket1", "s3-dg.pdf", S3_WRITE, false, 1549411238000},
	{"79a5 b1 [06/Feb/2019:00:00:39 +0000] 192.0.2.3 arn:aws:iam::1:user/x A1206F460EXAMPLE REST.GET.OBJECT data/shard-0001.tar \"GET "
	 "/data/shard-0001.tar HTTP/1.1\" 503 SlowDown 500 - 12 - \"-\" \"aws-sdk-cpp\" -",
		"b1", "data/shard-0001.tar", S3_READ, true, 1549411239000},
	{"79a5 b1 [06/Feb/2019:00:00:39 +0000] 192.0.2.3 - A1206 REST.GET.BUCKET - \"GET /b1?list-type=2&prefix=data/raw/&max-keys=1 HTTP/1.1\" "
	 "200 - 113 - 7 - \"-\" \"x\" -",
		"b1", "data/raw/", S3_READ, false, 1549411239000},
	{"79a5 b1 [06/Feb/2019:00:00:39 +0000] 192.0.2.3 - A1206 REST.COPY.OBJECT_GET data/a - 200 - - 5 - - - - -",
		"b1", "data/a", S3_READ, false, 1549411239000},
	{"upload: ckpt/a.pt to s3://b2/run/ckpt/a.pt", "b2", "run/ckpt/a.pt", S3_WRITE, false, 0},
	{"upload failed: ./a.pt to s3://b2/run/a.pt An error occurred (SlowDown) when calling the UploadPart operation (reached max retries: 4): "
	 "Please reduce your request rate.",
		"b2", "run/a.pt", S3_WRITE, true, 0},
	{"download: s3://b2/data/x.tar to ../data/x.tar", "b2", "data/x.tar", S3_READ, false, 0},
	{"copy: s3://b2/a/x to s3://b3/c/x", "b3", "c/x", S3_WRITE, false, 0},
	{"delete: s3://b2/a/x", "b2", "a/x", S3_WRITE, false, 0},
	{"boto3.exceptions.S3UploadFailedError: Failed to upload /tmp/m.pt to b4/runs/1/m.pt: An error occurred (SlowDown) when calling the PutObject "
	 "operation (reached max retries: 4): Please reduce your request rate.",
		"b4", "runs/1/m.pt", S3_WRITE, true, 0},
	{"botocore.exceptions.ClientError: An error occurred (503) when calling the HeadObject operation (reached max retries: 4): Slow Down",
		"", "", S3_READ, true, 0},
	{"ERROR \"cp s3://b5/d/x.bin ./x.bin\": SlowDown: Please reduce your request rate. status code: 503, request id: 1, host id: 2",
		"b5", "d/x.bin", S3_READ, true, 0},
	{"cp ./x.bin s3://b5/d/x.bin", "b5", "d/x.bin", S3_WRITE, false, 0},
	{"rm s3://b5/d/x.bin", "b5", "d/x.bin", S3_WRITE, false, 0},
	{"2026-11-27 10:05:04 cp s3://b5/d/x.bin x.bin", "b5", "d/x.bin", S3_READ, false, 0},
	{"2026-11-27T10:05:04Z [rank0]: rm s3://b5/d/x.bin", "b5", "d/x.bin", S3_WRITE, false, 0},
	{"[pod/a/b] mv ./x.bin s3://b5/d/x.bin", "b5", "d/x.bin", S3_WRITE, false, 0},
	{"2025-05-21T10:00:00.000001Z WARN lookup{req=106 ino=1 name=\"Input\"}:head_object{id=21 bucket=b6 key=train/Input}: "
	 "mountpoint_s3_client::s3_crt_client: meta request failed duration=11.087781ms http_status=503",
		"b6", "train/Input", S3_READ, true, 0},
	{"operation error S3: PutObject, https response error StatusCode: 503, RequestID: R, HostID: H, api error SlowDown: Please reduce your request rate.",
		"", "", S3_WRITE, true, 0},
	{"com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. (Service: Amazon S3; Status Code: 503; Error Code: SlowDown; "
	 "Request ID: 03D8D00FA3AD0455)",
		"", "", S3_UNKNOWN, true, 0},
	{"OSError: [Errno 16] Please reduce your request rate.", "", "", S3_UNKNOWN, true, 0}, /* s3fs.errors */
	{"requests failed: https://b7.s3.us-east-1.amazonaws.com/data/a?x=1 503 Slow Down", "b7", "data/a", S3_UNKNOWN,
		true, 0},
	{"requests failed: https://s3.us-east-1.amazonaws.com/b7/data/a 503 Slow Down", "b7", "data/a", S3_UNKNOWN,
		true, 0},
};

TEST(what_lines_tell)
{
	for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
		struct s3_line got;
		bool is_read = s3_line_read(span_from(told[i].line), &got);
		bool is_right = is_read && span_equal(got.bucket, span_from(told[i].bucket)) &&
				span_equal(got.key, span_from(told[i].key)) && got.kind == told[i].kind &&
				got.is_slow_down == told[i].is_slow_down && got.ts_ms == told[i].ts_ms;
		if (!is_right)
			fprintf(stderr, "line %zu: '%.*s' '%.*s' %d %d %lld\n", i, SPAN_ARGS(got.bucket),
				SPAN_ARGS(got.key), got.kind, got.is_slow_down, (long long)got.ts_ms);
		CHECK(is_right);
	}
}

TEST(other_lines_tell_nothing)
{
	static const char *const lines[] = {"", "upload: done", "cp a b", "loss: 503", "REST.GET.OBJECT",
		"a b [x] REST.GET.OBJECT - ", "step 1: copy: x", "download: 10% of model.bin", "x REST.PUT.OBJECT",
		"usage: cp s3://b/k x", "Note: rm s3://b/k", "1. cp s3://b/k x"};
	struct s3_line got;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		CHECK(!s3_line_read(span_from(lines[i]), &got));
}

TEST(prefixes_by_depth)
{
	CHECK(span_equal(s3_line_prefix(SPAN("a/b/c/d"), 2), SPAN("a/b/")));
	CHECK(span_equal(s3_line_prefix(SPAN("a/b"), 2), SPAN("a/")));
	CHECK(span_equal(s3_line_prefix(SPAN("a"), 2), SPAN("")));
}
