#include "http/assets.h"
#include "http/response.h"
#include "request_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void http_response_done(struct http_response *response)
{
	response_done(response);
}
AUTO_DONE_TYPE(http_response)

static const char script[] =
	"console.log(1);console.log(1);console.log(1);console.log(1);console.log(1);console.log(1);"
	"console.log(1);console.log(1);console.log(1);console.log(1);console.log(1);console.log(1);"
	"console.log(1);console.log(1);console.log(1);console.log(1);console.log(1);console.log(1);";
static const struct embedded_file table[] = {
	{"assets/app-1a2b.js", script, sizeof script - 1},
	{"assets/app-1a2b.js.gz", "packed", 6},
	{"assets/app-1a2b.js.map", "{}", 2},
	{"favicon.ico", "icon", 4},
	{"index.html", "<!doctype html>page", 19},
	{NULL, NULL, 0},
};
static const struct embedded_file nothing[] = {{NULL, NULL, 0}};

static const char *header_of(const struct http_response *response, const char *name)
{
	for (unsigned i = 0; i < response->header_count; i++)
		if (strcmp(response->headers[i].name, name) == 0)
			return response->headers[i].value;
	return "";
}

static struct http_response serve(struct assets *assets, const char *path, const char *header, const char *value)
{
	AUTO_DONE(http_request) request = request_for("GET", path);
	struct http_response response;

	give_header(&request, header, value);
	response_init(&response);
	CHECK_OK(assets_serve(assets, &request, &response, &err));
	return response;
}

static void check_missing(struct assets *assets, const char *path, const char *accept)
{
	AUTO_DONE(http_request) request = request_for("GET", path);
	AUTO_DONE(http_response) response;

	give_header(&request, "Accept", accept);
	response_init(&response);
	CHECK_FAILS(assets_serve(assets, &request, &response, &err), ERR_NOT_FOUND, path);
}

TEST(files_and_the_page)
{
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, table, NULL, &err));

	AUTO_DONE(http_response) root = serve(assets, "/", "Accept", "*/*");
	CHECK_SPAN(buf_span(&root.body), SPAN("<!doctype html>page"));
	CHECK_TEXT(root.content_type, "text/html; charset=utf-8");
	CHECK_TEXT(header_of(&root, "Cache-Control"), "no-cache");
	AUTO_DONE(http_response) page = serve(assets, "/jobs/a%2Fb", "Accept", "text/html,*/*");
	CHECK_SPAN(buf_span(&page.body), SPAN("<!doctype html>page"));
	AUTO_DONE(http_response) icon = serve(assets, "/favicon.ico", "Accept", "image/*");
	CHECK_TEXT(icon.content_type, "image/x-icon");
	check_missing(assets, "/jobs/x", "application/json");
	check_missing(assets, "/api/v1/nothing", "text/html");
	check_missing(assets, "/assets/old-ffff.js", "text/html");
}

TEST(a_jobs_page_has_a_file_of_its_own)
{
	static const struct embedded_file with_job[] = {{"index.html", "any page", 8}, {"job.html", "a job's", 7},
		{"logs.html", "its log", 7}, {NULL, NULL, 0}};
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, with_job, NULL, &err));

	AUTO_DONE(http_response) job = serve(assets, "/jobs/llama", "Accept", "text/html");
	CHECK_SPAN(buf_span(&job.body), SPAN("a job's"));
	AUTO_DONE(http_response) log = serve(assets, "/jobs/llama/logs", "Accept", "text/html");
	CHECK_SPAN(buf_span(&log.body), SPAN("its log"));
	AUTO_DONE(http_response) part = serve(assets, "/jobs/llama/nodes", "Accept", "text/html");
	CHECK_SPAN(buf_span(&part.body), SPAN("any page"));
	AUTO_DONE(http_response) jobs = serve(assets, "/jobs", "Accept", "text/html");
	CHECK_SPAN(buf_span(&jobs.body), SPAN("any page"));
}

TEST(a_view_has_a_file_of_its_own)
{
	static const struct embedded_file with_views[] = {{"fleet.html", "the fleet's", 11},
		{"index.html", "any page", 8}, {"wall.html", "the wall's", 10}, {NULL, NULL, 0}};
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, with_views, NULL, &err));

	AUTO_DONE(http_response) wall = serve(assets, "/wall", "Accept", "text/html");
	CHECK_SPAN(buf_span(&wall.body), SPAN("the wall's"));
	AUTO_DONE(http_response) fleet = serve(assets, "/", "Accept", "*/*");
	CHECK_SPAN(buf_span(&fleet.body), SPAN("the fleet's"));
	const char *others[] = {"/pools", "/wall/of", "/Wall", "/..", "/a-view-whose-name-is-too-long-to-be-one"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		AUTO_DONE(http_response) other = serve(assets, others[i], "Accept", "text/html");
		CHECK_SPAN(buf_span(&other.body), SPAN("any page"));
	}
}

TEST(hashed_files_are_immutable_and_packed)
{
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, table, NULL, &err));

	AUTO_DONE(http_response) plain = serve(assets, "/assets/app-1a2b.js", "Accept", "*/*");
	CHECK_SPAN(buf_span(&plain.body), span_from(script));
	CHECK_TEXT(header_of(&plain, "Cache-Control"), "public, max-age=31536000, immutable");
	CHECK_TEXT(header_of(&plain, "Vary"), "Accept-Encoding");
	AUTO_DONE(http_response) packed = serve(assets, "/assets/app-1a2b.js", "Accept-Encoding", "gzip");
	CHECK_TEXT(header_of(&packed, "Content-Encoding"), "gzip");
	CHECK_SPAN(buf_span(&packed.body), SPAN("packed"));
	check_missing(assets, "/assets/app-1a2b.js.gz", "*/*");
	AUTO_DONE(http_response) behind = serve(assets, "/assets/app-1a2b.js.map", "Accept-Encoding", "gzip");
	CHECK_SPAN(buf_span(&behind.body), SPAN("{}"));
	CHECK_TEXT(header_of(&behind, "Vary"), "");
	AUTO_DONE(http_response)
	same = serve(assets, "/assets/app-1a2b.js", "If-None-Match", header_of(&packed, "ETag"));
	CHECK_INT(same.status, 304);
	CHECK_INT(same.body.len, 0);
	AUTO_DONE(http_response) other = serve(assets, "/assets/app-1a2b.js", "If-None-Match", "\"0123456789abcdef\"");
	CHECK_INT(other.status, 200);
}

TEST(a_server_without_its_page_says_so)
{
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, nothing, NULL, &err));
	AUTO_DONE(http_response) response = serve(assets, "/", "Accept", "*/*");

	CHECK(span_find(buf_span(&response.body), SPAN("built without its page (no Node at build time)")) > 0);
	CHECK_TEXT(response.content_type, "text/html; charset=utf-8");
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void remove_file(const char *folder, const char *name)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
}

TEST(a_folder_in_place_of_what_is_embedded)
{
	char folder[] = "/tmp/smfleet-assets-XXXXXX";
	CHECK(mkdtemp(folder) != NULL);
	write_file(folder, "index.html", "from disk");
	write_file(folder, ".secret", "no");
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, table, folder, &err));

	AUTO_DONE(http_response) page = serve(assets, "/", "Accept", "*/*");
	CHECK_SPAN(buf_span(&page.body), SPAN("from disk"));
	AUTO_DONE(http_response) same = serve(assets, "/index.html", "If-None-Match", header_of(&page, "ETag"));
	CHECK_INT(same.status, 304);
	check_missing(assets, "/../../etc/passwd", "*/*");
	AUTO_DONE(http_response) escaped = serve(assets, "/..%2f..%2fetc%2fpasswd", "Accept", "text/html");
	CHECK_SPAN(buf_span(&escaped.body), SPAN("from disk"));
	check_missing(assets, "/.secret", "*/*");
	check_missing(assets, "/favicon.ico", "*/*");
	remove_file(folder, "index.html");
	remove_file(folder, ".secret");
	rmdir(folder);
}

static struct http_response serve_job(struct assets *assets, struct span head, const char *known)
{
	AUTO_DONE(http_request) request = request_for("GET", "/jobs/llama.js");
	struct http_response response;

	give_header(&request, "If-None-Match", known);
	response_init(&response);
	CHECK_OK(assets_serve_job(assets, head, &request, &response, &err));
	return response;
}

TEST(a_jobs_head_takes_the_place_of_the_title)
{
	static const char text[] = "<head><title>smfleet</title><link></head>";
	static const struct embedded_file with_job[] = {{"index.html", "any page", 8},
		{"job.html", text, sizeof text - 1}, {"job.html.gz", "packed", 6}, {NULL, NULL, 0}};
	const struct span head = SPAN("<title>llama</title>");
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, with_job, NULL, &err));

	AUTO_DONE(http_response) job = serve_job(assets, head, "");
	CHECK_SPAN(buf_span(&job.body), SPAN("<head><title>llama</title><link></head>"));
	CHECK_TEXT(header_of(&job, "Cache-Control"), "private, no-cache");
	AUTO_DONE(http_response) same = serve_job(assets, head, header_of(&job, "ETag"));
	CHECK_INT(same.status, 304);
	CHECK_INT(same.body.len, 0);
	AUTO_DONE(http_response) plain = serve_job(assets, SPAN(""), header_of(&job, "ETag"));
	CHECK_SPAN(buf_span(&plain.body), span_from(text));

	AUTO(assets) without = NULL;
	CHECK_OK(assets_new(&without, nothing, NULL, &err));
	AUTO_DONE(http_response) missing = serve_job(without, head, "");
	CHECK(span_find(buf_span(&missing.body), head) > 0);
	AUTO(assets) untitled = NULL;
	CHECK_OK(assets_new(&untitled, table, NULL, &err));
	AUTO_DONE(http_response) whole = serve_job(untitled, head, "");
	CHECK_SPAN(buf_span(&whole.body), SPAN("<!doctype html>page"));
}

TEST(a_jobs_head_in_a_page_from_a_folder)
{
	char folder[] = "/tmp/smfleet-assets-XXXXXX";
	CHECK(mkdtemp(folder) != NULL);
	write_file(folder, "index.html", "<title>smfleet</title> from disk");
	AUTO(assets) assets = NULL;
	CHECK_OK(assets_new(&assets, table, folder, &err));

	AUTO_DONE(http_response) page = serve_job(assets, SPAN("<title>llama</title>"), "");
	CHECK_SPAN(buf_span(&page.body), SPAN("<title>llama</title> from disk"));
	remove_file(folder, "index.html");
	rmdir(folder);
}
