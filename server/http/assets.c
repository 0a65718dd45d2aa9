#include "http/assets.h"
#include "base/crypto.h"
#include "base/hash128.h"
#include "http/response.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKED_SUFFIX ".gz"
enum { ETAG_HEX = 16, LARGEST_FILE_BYTES = 64 << 20, SUFFIX_BYTES = sizeof PACKED_SUFFIX - 1, LONGEST_VIEW = 20 };

struct asset {
	struct span name;
	struct span plain;
	struct span gzip; /* empty: does not pay */
	char etag[ETAG_HEX + 1];
};

struct assets {
	char *web_root;
	size_t count;
	struct asset all[];
};

static const struct {
	const char *suffix;
	const char *type;
} types[] = {
	{".html", "text/html; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".mjs", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".json", "application/json"},
	{".map", "application/json"},
	{".webmanifest", "application/manifest+json"},
	{".svg", "image/svg+xml"},
	{".txt", "text/plain; charset=utf-8"},
	{".wasm", "application/wasm"},
	{".png", "image/png"},
	{".ico", "image/x-icon"},
	{".woff2", "font/woff2"},
};

static const char page_missing[] = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>smfleet</title>\n"
				   "<h1>smfleet is running</h1>\n"
				   "<p>This smfleet server was built without its page (no Node at build time).\n"
				   "The REST API works: <a href=\"/api/v1/info\">GET /api/v1/info</a></p></html>\n";

static const char *type_of(struct span name)
{
	size_t i = 0;

	while (i < sizeof types / sizeof *types && !span_ends_with(name, span_from(types[i].suffix)))
		i++;
	return i < sizeof types / sizeof *types ? types[i].type : "application/octet-stream";
}

/* Of all files at each start. Nobody gains by two contents of his own that are taken for one. */
static void make_etag(struct span bytes, char etag[ETAG_HEX + 1])
{
	struct hash128 hash = {0};

	hash128_add(&hash, bytes);
	crypto_hex((const unsigned char *)&hash, ETAG_HEX / 2, etag);
}

/* The build packs what becomes smaller (tools/embed_page): FILE.gz is the next in the table. Else it is empty. */
static struct span packed_form(const struct embedded_file *file)
{
	struct span name = span_from(file[0].name), next = span_from(file[1].name ? file[1].name : "");
	bool is_packed = next.len == name.len + SUFFIX_BYTES && span_starts_with(next, name) &&
			 span_ends_with(next, SPAN(PACKED_SUFFIX));

	return is_packed ? embedded_span(&file[1]) : span_of(NULL, 0);
}

enum status assets_new(struct assets **out, const struct embedded_file *table, const char *web_root, struct error *err)
{
	size_t count = 0;

	while (table && table[count].name)
		count++;
	AUTO(assets) assets = mem_zeroed(sizeof *assets + count * sizeof *assets->all);
	if (!assets || (web_root && !(assets->web_root = mem_copy_string(web_root))))
		return error_no_memory(err);
	for (const struct embedded_file *file = table; file && file->name; file++) {
		struct asset *asset = &assets->all[assets->count++];
		*asset = (struct asset){span_from(file->name), embedded_span(file), packed_form(file), ""};
		make_etag(asset->plain, asset->etag);
		file += asset->gzip.len > 0;
	}
	*out = TAKE(assets);
	return OK;
}

void assets_free(struct assets *assets)
{
	if (!assets)
		return;
	mem_free(assets->web_root);
	mem_free(assets);
}

static bool is_safe_path(struct span name)
{
	struct span part;

	if (name.len == 0 || name.len > 1000)
		return false;
	while (span_next(&name, '/', &part))
		if (part.len == 0 || part.ptr[0] == '.')
			return false;
	return true;
}

static enum status read_whole(int fd, const char *path, struct buf *out, struct error *err)
{
	struct stat info;

	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return error_set(err, ERR_NOT_FOUND, "'%s' is no file", path);
	for (;;) {
		char *room = buf_reserve(out, 1 << 16);
		if (!room)
			return buf_status(out, err);
		ssize_t got = read(fd, room, 1 << 16);
		if (got < 0)
			return error_set(err, ERR_IO, "cannot read '%s': %s", path, strerror(errno));
		if (got == 0)
			return OK;
		buf_advance(out, (size_t)got);
	}
}

static enum status read_file(const struct assets *assets, struct span name, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(8192);

	if (!is_safe_path(name))
		return error_set(err, ERR_NOT_FOUND, "there is no such file");
	buf_printf(&path, "%s/%.*s", assets->web_root, SPAN_ARGS(name));
	buf_append_char(&path, 0);
	TRY(buf_status(&path, err));
	int fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
			"cannot open '%s': %s", path.ptr, strerror(errno));
	enum status status = read_whole(fd, path.ptr, out, err);
	close(fd);
	return status;
}

/* Names below assets/ hold a hash of the content: they never change. */
static void set_caching(struct http_response *response, struct span name)
{
	bool is_hashed = span_starts_with(name, SPAN("assets/"));

	http_response_header(
		response, "Cache-Control", "%s", is_hashed ? "public, max-age=31536000, immutable" : "no-cache");
	response->content_type = type_of(name);
}

static bool has_current(const struct http_request *request, const char *etag)
{
	char quoted[ETAG_HEX + 3];
	struct span known = http_request_header(request, "If-None-Match");

	snprintf(quoted, sizeof quoted, "\"%s\"", etag);
	return span_equal(known, SPAN("*")) || span_find(known, span_from(quoted)) >= 0;
}

static void serve_asset(const struct asset *asset, const struct http_request *request, struct http_response *response)
{
	bool is_packed = asset->gzip.len && response_accepts_gzip(http_request_header(request, "Accept-Encoding"));

	set_caching(response, asset->name);
	if (asset->gzip.len)
		http_response_header(response, "Vary", "Accept-Encoding");
	/* Weak when packed: the bytes differ from those of the plain file. */
	http_response_header(response, "ETag", "%s\"%s\"", is_packed ? "W/" : "", asset->etag);
	if (has_current(request, asset->etag)) {
		response->status = 304;
		return;
	}
	if (is_packed)
		http_response_header(response, "Content-Encoding", "gzip");
	buf_append_span(&response->body, is_packed ? asset->gzip : asset->plain);
}

/* Of a body that was made for this reply. */
static void check_current(const struct http_request *request, struct http_response *response)
{
	char etag[ETAG_HEX + 1];

	make_etag(buf_span(&response->body), etag);
	http_response_header(response, "ETag", "\"%s\"", etag);
	if (has_current(request, etag)) {
		response->status = 304;
		buf_reset(&response->body);
	}
}

static const struct asset *find_asset(const struct assets *assets, struct span name)
{
	for (size_t i = 0; i < assets->count; i++)
		if (span_equal(assets->all[i].name, name))
			return &assets->all[i];
	return NULL;
}

static enum status serve_file(const struct assets *assets, struct span name, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	if (!assets->web_root) {
		const struct asset *asset = find_asset(assets, name);
		if (!asset)
			return error_set(err, ERR_NOT_FOUND, "there is no such file");
		serve_asset(asset, request, response);
		return OK;
	}
	response->body.max_bytes = LARGEST_FILE_BYTES;
	TRY(read_file(assets, name, &response->body, err));
	set_caching(response, name);
	check_current(request, response);
	return OK;
}

/* The page's own paths are told apart by its script; what is asked for by a script or an image is not one of them. */
static bool is_page_path(struct span name, const struct http_request *request)
{
	if (name.len == 0)
		return true;
	return !span_equal(name, SPAN("api")) && !span_starts_with(name, SPAN("api/")) &&
	       !span_starts_with(name, SPAN("assets/")) &&
	       span_find(http_request_header(request, "Accept"), SPAN("text/html")) >= 0;
}

static bool is_word(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] < 'a' || name.ptr[i] > 'z')
			return false;
	return true;
}

/* The same page as every other, but it says at once what else this view will need: /wall has wall.html where the build made it.
 * *own: where the name is put together. */
static struct span own_page(struct span name, struct buf *own)
{
	struct span job;

	if (!name.len)
		return SPAN("fleet.html");
	if (name.len <= LONGEST_VIEW && is_word(name)) {
		buf_append_span(own, name);
		buf_append_text(own, ".html");
		return buf_span(own);
	}
	if (!span_starts_with(name, SPAN("jobs/")))
		return SPAN("index.html");
	name = span_skip(name, 5);
	if (!span_next(&name, '/', &job) || !name.len)
		return SPAN("job.html");
	return span_equal(name, SPAN("logs")) ? SPAN("logs.html") : SPAN("index.html");
}

static enum status serve_page(const struct assets *assets, struct span name, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO_DONE(buf) own = BUF_INIT(LONGEST_VIEW + sizeof ".html");
	enum status status = serve_file(assets, own_page(name, &own), request, response, err);

	if (status == ERR_NOT_FOUND)
		status = serve_file(assets, SPAN("index.html"), request, response, err);
	if (status != ERR_NOT_FOUND)
		return status;
	response->content_type = "text/html; charset=utf-8";
	buf_append_text(&response->body, page_missing);
	return OK;
}

enum status assets_serve(
	struct assets *assets, const struct http_request *request, struct http_response *response, struct error *err)
{
	struct span name = span_skip(http_request_path(request), 1);
	enum status status = name.len ? serve_file(assets, name, request, response, err) : ERR_NOT_FOUND;

	if (status == ERR_NOT_FOUND && is_page_path(name, request))
		status = serve_page(assets, name, request, response, err);
	if (status == ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND, "there is nothing at '%.*s'",
			(int)(name.len > 200 ? 200 : name.len + 1), http_request_path(request).ptr);
	return status;
}

/* As text, not packed: *out may be in own. */
static enum status read_job_page(const struct assets *assets, struct buf *own, struct span *out, struct error *err)
{
	const struct span names[] = {SPAN("job.html"), SPAN("index.html")};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct asset *asset = assets->web_root ? NULL : find_asset(assets, names[i]);
		enum status status = assets->web_root ? read_file(assets, names[i], own, err) : ERR_NOT_FOUND;
		if (status != OK && status != ERR_NOT_FOUND)
			return status;
		*out = asset ? asset->plain : buf_span(own);
		if (asset || status == OK)
			return OK;
	}
	*out = span_from(page_missing);
	return OK;
}

enum status assets_serve_job(struct assets *assets, struct span head, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct span title = SPAN("<title>smfleet</title>");
	AUTO_DONE(buf) own = BUF_INIT(LARGEST_FILE_BYTES);
	struct span page;

	if (!head.len)
		return serve_page(assets, SPAN("jobs/J"), request, response, err);
	TRY(read_job_page(assets, &own, &page, err));
	ptrdiff_t at = span_find(page, title);
	size_t before = at < 0 ? 0 : (size_t)at;
	buf_append_span(&response->body, span_of(page.ptr, before));
	if (at >= 0) {
		buf_append_span(&response->body, head);
		before += title.len;
	}
	buf_append_span(&response->body, span_skip(page, before));
	response->content_type = "text/html; charset=utf-8";
	http_response_header(response, "Cache-Control", "private, no-cache");
	check_current(request, response);
	return OK;
}
