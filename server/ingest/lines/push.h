/*
 * Job: what the pushing protocols share (Loki, OTLP): a body that is taken as a whole, streams known by labels, lines with a
 *      time of their own, the container runtime's prefix, and a hash by which a body that is sent again is known.
 * Ownership and threads: as ingest.h. Each protocol's file says how its bytes become these calls.
 */
#pragma once

#include "base/hash128.h"
#include "ingest/ingest.h"
#include "ingest/labels.h"

/* A number on its way into a series, with what was said of it so far. */
struct push_point {
	struct buf name; /* of the metric, then its labels as they come */
	size_t name_bytes; /* of the metric alone */
	unsigned label_count;
	struct buf unit;
	int64_t step; /* NO_STEP: nobody said it */
	uint64_t time_ns; /* 0: none */
	struct buf full, canonical; /* at work */
};

struct ingest_parser {
	struct ingest_options options;
	struct buf body, plain; /* as it came, and unpacked */
	struct label_set labels; /* of the stream at hand */
	struct buf text, key, scratch; /* without escapes */
	struct push_point point;
	struct buf spans; /* of a stream's traces (otlp_spans.c) */
	struct buf value, extra, below; /* of a log record: an attribute's; what stands behind the body, and below it */
	struct buf entry_host; /* the machine that a record names beside its text */
	unsigned entry_host_rank;
	bool entry_is_kernels; /* it names the kernel as the program that wrote its text */
	struct buf kept; /* a kernel's line with its machine */
	struct buf cri; /* parts of a line that the container runtime cut */
	int64_t cri_ms;
	bool has_cri; /* there are some */
	char cri_output; /* of stdout 'o' or of stderr 'e' */
	bool has_part;
	size_t part; /* of the batch; the stream at hand */

	struct buf warnings;
	size_t told;
};

/* What protocols share whose body is taken as a whole: `its_finish` reads it. */
#define PUSH_PROTOCOL(its_name, its_finish)                                                                            \
	{                                                                                                              \
		.name = its_name, .open = push_open, .feed = push_feed, .finish = its_finish, .warning = push_warning, \
		.held_bytes = push_held_bytes, .free = push_free                                                       \
	}

/* A message of protobuf; body: the whole, for places in errors. */
typedef enum status push_take(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err);
/* Each message that is the message's field `number`; name: the message's, in errors. */
enum status push_each(struct ingest_parser *parser, struct batch *batch, struct span message, struct span body,
	uint32_t number, const char *name, push_take *take, struct error *err) MUST_CHECK;
/* The same of the body, its field 1. */
enum status push_each_of_body(struct ingest_parser *parser, struct batch *batch, bool is_snappy, const char *name,
	push_take *take, struct error *err) MUST_CHECK;

enum status push_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err) MUST_CHECK;
enum status push_feed(
	struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err) MUST_CHECK;
struct span push_warning(const struct ingest_parser *parser);
void push_free(struct ingest_parser *parser);
size_t push_held_bytes(const struct ingest_parser *parser);

/* At the end of the body: all of it. is_packed: by snappy. */
enum status push_content(
	struct ingest_parser *parser, bool is_packed, struct span *content, struct error *err) MUST_CHECK;

/* The labels of a stream are given: finds its part; without a job, or with a name that is none, its entries are rejected. */
enum status push_begin_stream(struct ingest_parser *parser, struct batch *batch, struct error *err) MUST_CHECK;
/* One entry with its time, 0: none. What stands in identity (labels, attributes) tells it from an equal one. */
enum status push_line(struct ingest_parser *parser, struct batch *batch, struct span text, uint64_t time_ns,
	struct error *err) MUST_CHECK;
enum status push_end_stream(struct ingest_parser *parser, struct batch *batch, struct error *err) MUST_CHECK;
/* The stream's hash goes on over these bytes, too. */
void push_identify(struct ingest_parser *parser, struct batch *batch, struct span bytes);
struct batch_part *push_part(const struct ingest_parser *parser, const struct batch *batch); /* NULL: rejected */

/* Told in the first few words of the warning; the caller counts. */
void push_warn(struct ingest_parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
