#include "base/codec/inflate.h"
#include "base/codec/zstd.h"

#include <limits.h>
#include <zlib.h>

enum { WINDOW_BYTES = 64 << 10, GZIP_BITS = 15 + 16, ZLIB_BITS = 15, RAW_BITS = -15, DEFLATE_METHOD = 8 };

struct inflater {
	enum encoding encoding;
	uint64_t max_bytes; /* 0: no limit */
	uint64_t total;
	bool is_at_end; /* of a member or frame: the input may stop here */
	bool has_begun;
	bool has_zlib;
	z_stream zlib;
	struct zstd_stream *zstd;
	char window[WINDOW_BYTES];
};

static const char *const names[] = {[ENCODING_IDENTITY] = "identity",
	[ENCODING_GZIP] = "gzip",
	[ENCODING_DEFLATE] = "deflate",
	[ENCODING_ZSTD] = "zstd"};

bool encoding_parse(struct span name, enum encoding *out)
{
	name = span_trim(name);
	if (name.len == 0) {
		*out = ENCODING_IDENTITY;
		return true;
	}
	if (span_equal_fold(name, SPAN("x-gzip"))) { /* RFC 9110, 8.4.1.3: the same as gzip */
		*out = ENCODING_GZIP;
		return true;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal_fold(name, span_from(names[i]))) {
			*out = (enum encoding)i;
			return true;
		}
	return false;
}

static void *allocate(void *unused, unsigned count, unsigned bytes)
{
	(void)unused;
	return mem_resize(NULL, count, bytes);
}

static void release(void *unused, void *block)
{
	(void)unused;
	mem_free(block);
}

static bool init_decoder(struct inflater *inflater)
{
	inflater->zlib = (z_stream){.zalloc = allocate, .zfree = release};
	switch (inflater->encoding) {
	case ENCODING_GZIP:
	case ENCODING_DEFLATE:
		inflater->has_zlib = inflateInit2(&inflater->zlib,
					     inflater->encoding == ENCODING_GZIP ? GZIP_BITS : ZLIB_BITS) == Z_OK;
		return inflater->has_zlib;
	case ENCODING_ZSTD:
		return (inflater->zstd = zstd_stream_new()) != NULL;
	case ENCODING_IDENTITY:
		inflater->is_at_end = true;
		return true;
	}
	return true;
}

enum status inflater_new(struct inflater **out, enum encoding encoding, uint64_t max_bytes, struct error *err)
{
	AUTO(inflater) inflater = mem_alloc(sizeof *inflater);

	if (!inflater)
		return error_no_memory(err);
	memset(inflater, 0, offsetof(struct inflater, window)); /* the window is written before it is read */
	inflater->encoding = encoding;
	inflater->max_bytes = max_bytes;
	if (!init_decoder(inflater))
		return error_no_memory(err);
	*out = TAKE(inflater);
	return OK;
}

void inflater_free(struct inflater *inflater)
{
	if (!inflater)
		return;
	if (inflater->has_zlib)
		inflateEnd(&inflater->zlib);
	zstd_stream_free(inflater->zstd);
	mem_free(inflater);
}

static enum status too_large(const struct inflater *inflater, struct error *err)
{
	return error_set(err, ERR_TOO_LARGE, "the body is larger than %llu bytes (%s)",
		(unsigned long long)inflater->max_bytes, names[inflater->encoding]);
}

static enum status damaged(const struct inflater *inflater, const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "the body is not %s as it says: %s", names[inflater->encoding], why);
}

/* Never more than one byte over the limit: a bomb is stopped there. */
static size_t window_room(const struct inflater *inflater)
{
	uint64_t left = inflater->max_bytes - inflater->total;

	return inflater->max_bytes && left < WINDOW_BYTES ? (size_t)left + 1 : WINDOW_BYTES;
}

/* More input behind an end: gzip may have further members; "deflate" is one stream, with or without zlib's header. */
static enum status begin_member(struct inflater *inflater, struct span input, struct error *err)
{
	if (inflater->has_begun && inflater->encoding == ENCODING_DEFLATE)
		return damaged(inflater, "there are bytes behind its end", err);
	if (inflater->encoding == ENCODING_GZIP)
		inflateReset(&inflater->zlib);
	else if ((input.ptr[0] & 0x0f) != DEFLATE_METHOD)
		inflateReset2(&inflater->zlib, RAW_BITS); /* some clients leave the header out, against RFC 9110 */
	inflater->has_begun = true;
	inflater->is_at_end = false;
	return OK;
}

static enum status step_zlib(struct inflater *inflater, struct span *input, size_t *written, struct error *err)
{
	z_stream *zlib = &inflater->zlib;
	size_t room = window_room(inflater);

	if (input->len && (inflater->is_at_end || !inflater->has_begun))
		TRY(begin_member(inflater, *input, err));
	if (inflater->is_at_end)
		return OK;
	zlib->next_in = (unsigned char *)input->ptr;
	zlib->avail_in = input->len > UINT_MAX ? UINT_MAX : (unsigned)input->len;
	zlib->next_out = (unsigned char *)inflater->window;
	zlib->avail_out = (unsigned)room;
	unsigned offered = zlib->avail_in;
	int result = inflate(zlib, Z_NO_FLUSH);
	*input = span_skip(*input, offered - zlib->avail_in);
	*written = room - zlib->avail_out;
	inflater->is_at_end = result == Z_STREAM_END;
	if (result == Z_MEM_ERROR)
		return error_no_memory(err);
	if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
		return damaged(inflater, zlib->msg ? zlib->msg : "it needs a dictionary", err);
	return OK;
}

static enum status step_zstd(struct inflater *inflater, struct span *input, size_t *written, struct error *err)
{
	size_t before = input->len;
	bool is_at_end = false;

	TRY(zstd_stream_step(inflater->zstd, input, inflater->window, window_room(inflater), written, &is_at_end, err));
	if (*written || input->len < before) /* an idle call says nothing about the end */
		inflater->is_at_end = is_at_end;
	return OK;
}

static enum status count(struct inflater *inflater, size_t bytes, struct error *err)
{
	inflater->total += bytes;
	if (inflater->max_bytes && inflater->total > inflater->max_bytes)
		return too_large(inflater, err);
	return OK;
}

enum status inflater_step(struct inflater *inflater, struct span *input, struct span *output, struct error *err)
{
	size_t written = 0;

	TRY(count(inflater, 0, err)); /* once over the limit, always over it */
	if (inflater->encoding == ENCODING_IDENTITY) {
		TRY(count(inflater, input->len, err));
		*output = *input;
		*input = span_skip(*input, input->len);
		return OK;
	}
	do { /* headers and empty members give no output */
		if (inflater->encoding == ENCODING_ZSTD)
			TRY(step_zstd(inflater, input, &written, err));
		else
			TRY(step_zlib(inflater, input, &written, err));
	} while (!written && input->len);
	TRY(count(inflater, written, err));
	*output = span_of(inflater->window, written);
	return OK;
}

enum status inflater_end(struct inflater *inflater, struct error *err)
{
	return inflater->is_at_end ? OK : damaged(inflater, "it is cut off", err);
}

enum status deflate_gzip(struct span plain, int level, struct buf *out, struct error *err)
{
	z_stream zlib = {.zalloc = allocate, .zfree = release};

	TRY(buf_status(out, err));
	if (plain.len > UINT_MAX / 2)
		return error_set(err, ERR_TOO_LARGE, "a reply of %zu bytes is not compressed", plain.len);
	int result = deflateInit2(&zlib, level, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY);
	if (result != Z_OK)
		return result == Z_MEM_ERROR ? error_no_memory(err)
					     : error_set(err, ERR_INTERNAL, "there is no gzip level %d", level);
	/* The bound is more than most need: a buf with less room left than that gets its chance. */
	size_t bound = deflateBound(&zlib, plain.len), left = out->max_bytes - out->len;
	size_t room_bytes = bound < left ? bound : left;
	char *room = buf_reserve(out, room_bytes);
	if (room) {
		zlib.next_in = (unsigned char *)plain.ptr;
		zlib.avail_in = (unsigned)plain.len;
		zlib.next_out = (unsigned char *)room;
		zlib.avail_out = (unsigned)room_bytes;
		if (deflate(&zlib, Z_FINISH) == Z_STREAM_END)
			buf_advance(out, room_bytes - zlib.avail_out);
		else
			out->failure = ERR_TOO_LARGE;
	}
	deflateEnd(&zlib);
	return buf_status(out, err);
}

/* ---- as it is made ---- */

struct deflater {
	int level;
	struct zstd *zstd; /* NULL: gzip */
	z_stream zlib;
	bool has_zlib;
};

enum status deflater_new(struct deflater **out, enum encoding encoding, int level, struct error *err)
{
	AUTO(deflater) deflater = mem_zeroed(sizeof *deflater);

	if (!deflater)
		return error_no_memory(err);
	deflater->level = level;
	if (encoding == ENCODING_ZSTD) {
		deflater->zstd = zstd_new();
	} else {
		deflater->zlib = (z_stream){.zalloc = allocate, .zfree = release};
		deflater->has_zlib =
			deflateInit2(&deflater->zlib, level, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	}
	if (!deflater->zstd && !deflater->has_zlib)
		return error_no_memory(err);
	*out = TAKE(deflater);
	return OK;
}

void deflater_free(struct deflater *deflater)
{
	if (!deflater)
		return;
	if (deflater->has_zlib)
		deflateEnd(&deflater->zlib);
	zstd_free(deflater->zstd);
	mem_free(deflater);
}

enum status deflater_step(
	struct deflater *deflater, struct span plain, bool is_last, struct buf *out, struct error *err)
{
	z_stream *zlib = &deflater->zlib;

	if (deflater->zstd) /* frames behind each other are one body */
		return plain.len ? zstd_pack(deflater->zstd, plain, deflater->level, out, err) : OK;
	if (plain.len > UINT_MAX)
		return error_set(err, ERR_TOO_LARGE, "%zu bytes are packed at once", plain.len);
	zlib->next_in = (unsigned char *)plain.ptr;
	zlib->avail_in = (unsigned)plain.len;
	do {
		char *room = buf_reserve(out, WINDOW_BYTES);
		if (!room)
			return buf_status(out, err);
		zlib->next_out = (unsigned char *)room;
		zlib->avail_out = WINDOW_BYTES;
		deflate(zlib, is_last ? Z_FINISH : Z_SYNC_FLUSH);
		buf_advance(out, WINDOW_BYTES - zlib->avail_out);
	} while (!zlib->avail_out);
	return buf_status(out, err);
}
