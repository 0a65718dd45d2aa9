#include "fleet/s3_line.h"

#include "base/text/iso8601.h"

#include <ctype.h>

const char s3_line_pattern[] =
	" REST\\.[A-Z]+\\.[A-Z_]+ |SlowDown|Please reduce your request rate|AWS_ERROR_S3_SLOW_DOWN|\\(503\\) when calling|"
	"Slow Down|http_status=503|Service: (?:Amazon )?S3[;,] Status Code: 503|"
	"\\b(?:upload|download|copy|move|delete): |(?:^|\\s)(?:cp|mv|rm) s3://|(?:^|\\s)(?:cp|mv) \\S+ s3://";

static bool holds(struct span text, const char *word)
{
	return span_find(text, span_from(word)) >= 0;
}

/* What is behind the mark; ptr NULL: it is not there. */
static struct span behind(struct span text, const char *mark)
{
	ptrdiff_t at = span_find(text, span_from(mark));

	return at < 0 ? span_of(NULL, 0) : span_skip(text, (size_t)at + strlen(mark));
}

/* Up to the first byte of `ends`. */
static struct span until(struct span text, const char *ends)
{
	size_t len = 0;

	while (len < text.len && !strchr(ends, text.ptr[len]))
		len++;
	return span_of(text.ptr, len);
}

/* "bucket/key" */
static void set_place(struct s3_line *out, struct span place)
{
	out->bucket = until(place, "/");
	out->key = span_skip(place, out->bucket.len + 1);
}

/* ---- access logs: https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html ---- */

/* "06/Feb/2019:00:00:38 +0000" */
static bool read_time(struct span text, int64_t *ts_ms)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t day, year, hour, minute, second;

	if (text.len < 20 || !span_parse_i64(span_of(text.ptr, 2), &day) ||
		!span_parse_i64(span_of(text.ptr + 7, 4), &year) || !span_parse_i64(span_of(text.ptr + 12, 2), &hour) ||
		!span_parse_i64(span_of(text.ptr + 15, 2), &minute) ||
		!span_parse_i64(span_of(text.ptr + 18, 2), &second))
		return false;
	bool is_possible = day >= 1 && day <= 31 && year >= 1970 && hour >= 0 && hour < 24 && minute >= 0 &&
			   minute < 60 && second >= 0 && second <= 60;
	ptrdiff_t month = span_find(span_from(months), span_of(text.ptr + 3, 3));
	if (!is_possible || month < 0 || month % 3)
		return false;
	int64_t days = iso8601_days(year, (unsigned)(month / 3 + 1), (unsigned)day);
	*ts_ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000; /* they are in UTC */
	return true;
}

static enum s3_kind kind_of_method(struct span method)
{
	static const char *const writes[] = {"PUT", "POST", "COPY", "DELETE"};

	if (span_equal(method, SPAN("GET")) || span_equal(method, SPAN("HEAD")))
		return S3_READ;
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
		if (span_equal(method, span_from(writes[i])))
			return S3_WRITE;
	return S3_UNKNOWN;
}

/* OWNER BUCKET [TIME] ADDRESS REQUESTER ID REST.PUT.OBJECT KEY "URI" STATUS ERROR … */
static bool read_access(struct span line, struct s3_line *out)
{
	struct span rest = behind(line, " REST."), head = line, owner, time = behind(line, "[");

	if (!rest.ptr || !span_next(&head, ' ', &owner) || !span_next(&head, ' ', &out->bucket) ||
		!read_time(until(time, "]"), &out->ts_ms))
		return false;
	out->kind = kind_of_method(until(rest, ". "));
	if (span_ends_with(until(rest, " "), SPAN("_GET"))) /* what a copy reads: REST.COPY.OBJECT_GET */
		out->kind = S3_READ;
	rest = span_skip(rest, until(rest, " ").len + 1);
	out->key = until(rest, " ");
	rest = span_skip(rest, out->key.len + 1);
	if (span_equal(out->key, SPAN("-"))) { /* of a bucket: what is listed says its URI */
		struct span listed = behind(until(span_skip(rest, 1), "\""), "prefix=");
		out->key = listed.ptr ? until(listed, "& ") : SPAN("");
	}
	if (span_take(&rest, SPAN("\"")))
		rest = span_skip(rest, until(rest, "\"").len + 2);
	out->is_slow_down = span_equal(until(rest, " "), SPAN("503"));
	return out->kind != S3_UNKNOWN;
}

/* ---- what clients print ---- */

static bool is_refused(struct span line)
{
	static const char *const marks[] = {"SlowDown", "Please reduce your request rate", "AWS_ERROR_S3_SLOW_DOWN",
		"(503) when calling", "503 Slow Down", "503: Slow Down", "http_status=503", "Status Code: 503"};

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (holds(line, marks[i]))
			return true;
	return false;
}

/* PutObject, put_object */
static enum s3_kind kind_of_operation(struct span name)
{
	static const char *const reads[] = {"get", "head", "list", "select"}, *const writes[] = {"put", "upload",
										      "copy", "delete", "create",
										      "complete", "abort", "post"};

	for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
		if (span_equal_fold(span_of(name.ptr, name.len < strlen(reads[i]) ? name.len : strlen(reads[i])),
			    span_from(reads[i])))
			return S3_READ;
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
		if (span_equal_fold(span_of(name.ptr, name.len < strlen(writes[i]) ? name.len : strlen(writes[i])),
			    span_from(writes[i])))
			return S3_WRITE;
	return S3_UNKNOWN;
}

/* "upload: ./a to s3://b/k", "download failed: s3://b/k to ./a An error occurred …", "delete: s3://b/k" of the AWS CLI. */
static bool read_cli(struct span line, struct s3_line *out)
{
	static const struct {
		const char *word;
		enum s3_kind kind;
	} verbs[] = {{"upload", S3_WRITE}, {"download", S3_READ}, {"copy", S3_WRITE}, {"move", S3_WRITE},
		{"delete", S3_WRITE}};
	char mark[32];

	for (size_t i = 0; i < 2 * sizeof verbs / sizeof *verbs; i++) {
		size_t verb = i / 2, len = strlen(verbs[verb].word);
		memcpy(mark, verbs[verb].word, len);
		memcpy(mark + len, i % 2 ? " failed: " : ": ", i % 2 ? 10 : 3);
		struct span rest = behind(line, mark), to;
		if (!rest.ptr)
			continue;
		to = behind(rest, " to s3://");
		struct span place = to.ptr ? to : behind(rest, "s3://");
		if (!place.ptr)
			continue;
		out->kind = verbs[verb].kind;
		set_place(out, until(place, " "));
		return true;
	}
	return false;
}

/* A time, or what launchers and loggers put in brackets in front; "usage: cp s3://…" was never run. */
static bool is_in_front(struct span word)
{
	return word.len &&
	       (word.ptr[0] == '[' || (isdigit((unsigned char)word.ptr[0]) &&
					      (span_find_char(word, ':') > 0 || span_find_char(word, '-') > 0)));
}

/* `cp s3://b/k ./x`, `rm s3://b/k`, ERROR "cp ./x s3://b/k": SlowDown: … of s5cmd: what is read from, or else written to. */
static bool read_s5cmd(struct span line, struct s3_line *out)
{
	struct span command = behind(line, "ERROR \""), verb;
	bool is_there;

	command = command.ptr ? until(command, "\"") : line;
	do
		is_there = span_next(&command, ' ', &verb);
	while (is_there && is_in_front(verb));
	if (!is_there || verb.len != 2 ||
		!(span_equal(verb, SPAN("cp")) || span_equal(verb, SPAN("mv")) || span_equal(verb, SPAN("rm"))))
		return false;
	struct span place = behind(command, "s3://");
	bool is_from = span_starts_with(command, SPAN("s3://"));
	if (!place.ptr)
		return false;
	out->kind = is_from && !span_equal(verb, SPAN("rm")) && !holds(place, "s3://") ? S3_READ : S3_WRITE;
	if (holds(place, "s3://")) /* from one bucket to another: a copy is a write there */
		place = behind(place, "s3://");
	set_place(out, until(place, " "));
	return true;
}

/* get_object{id=7 bucket=b key="k" …}: … http_status=503 of Mountpoint's log. */
static bool read_mountpoint(struct span line, struct s3_line *out)
{
	struct span bucket = behind(line, "bucket="), key = behind(line, "key=");
	ptrdiff_t brace = bucket.ptr ? bucket.ptr - line.ptr : 0;
	size_t end, start;

	if (!bucket.ptr)
		return false;
	span_take(&bucket, SPAN("\""));
	span_take(&key, SPAN("\""));
	out->bucket = until(bucket, "\" },");
	out->key = key.ptr ? until(key, "\" },") : SPAN("");
	for (end = (size_t)brace; end && line.ptr[end - 1] != '{'; end--)
		;
	end -= end > 0; /* before the brace */
	for (start = end; start && (isalpha((unsigned char)line.ptr[start - 1]) || line.ptr[start - 1] == '_'); start--)
		;
	out->kind = kind_of_operation(span_of(line.ptr + start, end - start));
	return true;
}

/* https://b.s3.us-east-1.amazonaws.com/k and https://s3.us-east-1.amazonaws.com/b/k */
static bool read_url(struct span line, struct s3_line *out)
{
	struct span url = behind(line, "https://"), host, path;

	if (!url.ptr)
		return false;
	host = until(url, "/ \"'");
	path = until(span_skip(url, host.len + 1), " ?\"'");
	if (!holds(host, "amazonaws.com"))
		return false;
	ptrdiff_t at = span_find(host, SPAN(".s3"));
	if (at < 0) {
		set_place(out, path);
		return span_starts_with(host, SPAN("s3"));
	}
	out->bucket = span_of(host.ptr, (size_t)at);
	out->key = path;
	return true;
}

/* Failed to upload FILE to BUCKET/KEY: An error occurred … of boto3; else any s3:// address. */
static bool read_address(struct span line, struct s3_line *out)
{
	struct span failed = behind(line, "Failed to upload "), to = failed.ptr ? behind(failed, " to ") : failed;
	struct span address = behind(line, "s3://");

	if (!to.ptr && !address.ptr)
		return false;
	set_place(out, to.ptr ? until(to, ": ") : until(address, " \"',:)"));
	return true;
}

bool s3_line_read(struct span line, struct s3_line *out)
{
	*out = (struct s3_line){.bucket = SPAN(""), .key = SPAN("")};
	if (read_access(line, out))
		return true;
	*out = (struct s3_line){.bucket = SPAN(""), .key = SPAN(""), .is_slow_down = is_refused(line)};
	if (read_cli(line, out) || read_s5cmd(line, out))
		return true;
	if (!out->is_slow_down)
		return false;
	if (!read_mountpoint(line, out) && !read_url(line, out))
		read_address(line, out);
	struct span called = behind(line, "when calling the ");
	if (!called.ptr)
		called = behind(line, "operation error S3: ");
	if (called.ptr)
		out->kind = kind_of_operation(called);
	return true;
}

struct span s3_line_prefix(struct span key, size_t depth)
{
	size_t len = 0;

	for (size_t i = 0; i < key.len && depth; i++)
		if (key.ptr[i] == '/') {
			len = i + 1;
			depth--;
		}
	return span_of(key.ptr, len);
}
