#include "base/codec/zstd.h"

#include <zstd.h>
#include <zstd_errors.h>

enum { LARGEST_WINDOW_LOG = 23 }; /* 8 MiB, what RFC 9659 asks of every decoder of the "zstd" content encoding */

struct zstd {
	ZSTD_CCtx *packer;
	ZSTD_DCtx *unpacker;
};

struct zstd_stream {
	ZSTD_DCtx *context;
	bool is_inside; /* a frame */
};

struct zstd *zstd_new(void)
{
	AUTO(zstd) zstd = mem_zeroed(sizeof *zstd);

	if (!zstd || !(zstd->packer = ZSTD_createCCtx()) || !(zstd->unpacker = ZSTD_createDCtx()))
		return NULL;
	/* Without a checksum a flipped bit can unpack into other content. */
	ZSTD_CCtx_setParameter(zstd->packer, ZSTD_c_checksumFlag, 1);
	return TAKE(zstd);
}

void zstd_free(struct zstd *zstd)
{
	if (!zstd)
		return;
	ZSTD_freeCCtx(zstd->packer);
	ZSTD_freeDCtx(zstd->unpacker);
	mem_free(zstd);
}

enum status zstd_pack(struct zstd *zstd, struct span plain, int level, struct buf *out, struct error *err)
{
	TRY(buf_status(out, err));
	/* The bound is more than most frames need: a buf with less room left than that gets its chance. */
	size_t bound = ZSTD_compressBound(plain.len), left = out->max_bytes - out->len;
	size_t room_bytes = bound < left ? bound : left;
	char *room = buf_reserve(out, room_bytes);
	TRY(buf_status(out, err));
	ZSTD_CCtx_setParameter(zstd->packer, ZSTD_c_compressionLevel, level);
	size_t written = ZSTD_compress2(zstd->packer, room, room_bytes, plain.ptr, plain.len);
	if (!ZSTD_isError(written)) {
		buf_advance(out, written);
		return OK;
	}
	ZSTD_CCtx_reset(zstd->packer, ZSTD_reset_session_only);
	switch (ZSTD_getErrorCode(written)) {
	case ZSTD_error_dstSize_tooSmall:
		out->failure = ERR_TOO_LARGE;
		break;
	case ZSTD_error_memory_allocation:
		out->failure = ERR_MEMORY;
		break;
	default:
		return error_set(err, ERR_INTERNAL, "cannot pack %zu bytes: %s", plain.len, ZSTD_getErrorName(written));
	}
	return buf_status(out, err);
}

static enum status frame_error(size_t result, struct error *err)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		return error_no_memory(err);
	case ZSTD_error_frameParameter_windowTooLarge:
		return error_set(err, ERR_TOO_LARGE, "the zstd frame needs a window of more than %d MiB",
			1 << (LARGEST_WINDOW_LOG - 20));
	default:
		return error_set(err, ERR_INVALID, "not a whole zstd frame: %s", ZSTD_getErrorName(result));
	}
}

/* Frames as in RFC 8878 and skippable ones; the library would also take the formats from before version 0.8. */
static enum status check_first_byte(struct span input, struct error *err)
{
	unsigned char byte = (unsigned char)input.ptr[0];

	if (byte == 0x28 || (byte & 0xf0) == 0x50)
		return OK;
	return error_set(err, ERR_INVALID, "not a zstd frame: it begins with byte 0x%02x", byte);
}

static enum status too_large(size_t max_bytes, struct error *err)
{
	return error_set(err, ERR_TOO_LARGE, "the zstd frame holds more than %zu bytes", max_bytes);
}

static enum status unpack_known(struct zstd *zstd, struct span frame, size_t size, struct buf *out, struct error *err)
{
	char *room = buf_reserve(out, size);

	TRY(buf_status(out, err));
	size_t written = ZSTD_decompressDCtx(zstd->unpacker, room, size, frame.ptr, frame.len);
	if (ZSTD_isError(written))
		return frame_error(written, err);
	buf_advance(out, written);
	return OK;
}

/* A frame from a stream does not say how much it holds. */
static enum status unpack_unknown(
	struct zstd *zstd, struct span frame, size_t max_bytes, struct buf *out, struct error *err)
{
	ZSTD_inBuffer input = {frame.ptr, frame.len, 0};
	size_t start = out->len, hint = 1;

	ZSTD_DCtx_reset(zstd->unpacker, ZSTD_reset_session_only);
	while (hint) {
		size_t left = max_bytes - (out->len - start), step = ZSTD_DStreamOutSize();
		ZSTD_outBuffer output = {NULL, left < step ? left + 1 : step, 0};
		output.dst = buf_reserve(out, output.size);
		TRY(buf_status(out, err));
		hint = ZSTD_decompressStream(zstd->unpacker, &output, &input);
		if (ZSTD_isError(hint))
			return frame_error(hint, err);
		if (output.pos > left)
			return too_large(max_bytes, err);
		if (hint && input.pos == input.size && output.pos < output.size)
			return error_set(
				err, ERR_INVALID, "not a whole zstd frame: cut off after %zu bytes", frame.len);
		buf_advance(out, output.pos);
	}
	return OK;
}

enum status zstd_unpack(struct zstd *zstd, struct span frame, size_t max_bytes, struct buf *out, struct error *err)
{
	if (frame.len == 0)
		return error_set(err, ERR_INVALID, "not a zstd frame: there are no bytes");
	TRY(check_first_byte(frame, err));
	size_t frame_bytes = ZSTD_findFrameCompressedSize(frame.ptr, frame.len), start = out->len;
	if (ZSTD_isError(frame_bytes))
		return frame_error(frame_bytes, err);
	if (frame_bytes < frame.len)
		return error_set(err, ERR_INVALID, "%zu bytes behind the end of a zstd frame", frame.len - frame_bytes);
	unsigned long long size = ZSTD_getFrameContentSize(frame.ptr, frame.len);
	if (size == ZSTD_CONTENTSIZE_ERROR)
		return error_set(err, ERR_INVALID, "not a zstd frame");
	if (size != ZSTD_CONTENTSIZE_UNKNOWN && size > max_bytes)
		return too_large(max_bytes, err);
	enum status status = size == ZSTD_CONTENTSIZE_UNKNOWN ? unpack_unknown(zstd, frame, max_bytes, out, err)
							      : unpack_known(zstd, frame, (size_t)size, out, err);
	if (status)
		out->len = start; /* all or nothing */
	return status;
}

struct zstd_stream *zstd_stream_new(void)
{
	struct zstd_stream *stream = mem_zeroed(sizeof *stream);

	if (stream && !(stream->context = ZSTD_createDCtx())) {
		mem_free(stream);
		return NULL;
	}
	if (stream)
		ZSTD_DCtx_setParameter(stream->context, ZSTD_d_windowLogMax, LARGEST_WINDOW_LOG);
	return stream;
}

void zstd_stream_free(struct zstd_stream *stream)
{
	if (!stream)
		return;
	ZSTD_freeDCtx(stream->context);
	mem_free(stream);
}

enum status zstd_stream_step(struct zstd_stream *stream, struct span *input, char *out, size_t room, size_t *written,
	bool *is_at_end, struct error *err)
{
	ZSTD_inBuffer from = {input->ptr, input->len, 0};
	ZSTD_outBuffer to = {out, room, 0};

	*written = 0;
	*is_at_end = false;
	if (!stream->is_inside && input->len == 0)
		return OK;
	if (!stream->is_inside)
		TRY(check_first_byte(*input, err));
	size_t hint = ZSTD_decompressStream(stream->context, &to, &from);

	if (ZSTD_isError(hint))
		return frame_error(hint, err);
	*input = span_skip(*input, from.pos);
	*written = to.pos;
	*is_at_end = hint == 0;
	stream->is_inside = hint != 0;
	return OK;
}
