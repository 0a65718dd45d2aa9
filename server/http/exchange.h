/*
 * Job: one request from its headers to the end of its reply, as a state machine that knows nothing of libmicrohttpd's
 *      types. admit.c decides whether it is served, body.c takes its body, refusal.c says no while a body still
 *      arrives, stream.c writes open-ended replies, exchange.c drives them.
 * Ownership: made when the request line has arrived, released by exchange_release when the transport is done with it.
 * Threads: the connection's I/O thread; a worker while phase is WORKING (the connection is suspended then).
 */
#pragma once

#include "base/codec/inflate.h"
#include "http/park.h"
#include "http/request.h"
#include "http/response.h"
#include "http/workers.h"

enum phase {
	PHASE_NEW,
	PHASE_BODY, /* the body arrives and is taken */
	PHASE_REFUSED, /* the reply is there; what is left of the body is read and thrown away */
	PHASE_LINGER, /* the reply has left around the transport; what is left of the body is thrown away */
	PHASE_WORKING, /* a worker has it */
	PHASE_REPLY,
	PHASE_STREAMING,
};

/* What the transport does next. */
enum step {
	STEP_MORE, /* nothing: more will come, or it is suspended */
	STEP_REPLY,
	STEP_STREAM,
	STEP_CLOSE,
};

struct http_upload {
	struct exchange *exchange;
};

struct http_stream {
	struct exchange *exchange;
};

struct http_deferred {
	atomic_uint answerers; /* the last one sends the reply: the worker, and whom the handler gave it to */
	bool is_deferred; /* the worker's */
};

struct exchange {
	struct http_request request;
	struct http_server *server;
	struct MHD_Connection *connection;
	const struct http_route *route;
	struct span target; /* as it came */
	const char *behind_target; /* in the transport's buffer; only to be compared */
	bool has_gap; /* in the head: a NUL was there, or a folded line */
	enum phase phase;
	struct http_response *reply;
	bool must_close; /* the connection serves no further request */
	bool is_across; /* of a page of elsewhere that may read: its answer says so, and no cookie counts */
	bool is_slow; /* it keeps to the workers for such */
	bool is_underway; /* the whole request is here: the server's end waits for the reply */

	bool expects_continue;
	bool has_unknown_length; /* chunked */
	uint64_t content_length;
	uint64_t wire_bytes; /* of the body, so far */
	uint64_t body_bytes; /* the same, decoded */
	size_t largest_piece_bytes;
	struct inflater *inflater;
	int64_t refusal_deadline_ms;

	struct park park;
	void *object; /* the upload's or the stream's own */
	bool has_object; /* begun or opened, and not ended */
	atomic_uint owners; /* the transport, and a detached upload's late wake-up */
	struct http_upload upload;
	struct http_stream stream;
	struct work work;
	struct http_deferred deferred;

	const struct http_producer_ops *producer; /* of a long reply */
	void *producer_state;
	struct deflater *deflater; /* NULL: it goes as it is */
	struct buf batch;
	size_t batch_at; /* so much of it was sent */
	bool is_produced; /* it is the last one */
	bool has_failed; /* there will be no other */

	struct exchange *next; /* the server's list */
	struct exchange *previous;
	bool is_listed;
	atomic_bool is_revoked; /* who was let in would not be now */
};

/* The workers that its requests to the database go to. */
struct workers *exchange_workers(const struct exchange *exchange);
/* NULL: out of memory. */
struct exchange *exchange_new(struct http_server *server, struct MHD_Connection *connection, struct span target);
/* Ends what is not ended: abort of an upload, free of a stream. */
void exchange_release(struct exchange *exchange);

/* In this order, once each, but for exchange_body (each piece) and exchange_end (again after a wait). */
enum step exchange_begin(struct exchange *exchange, struct span method, struct span version);
enum step exchange_body(struct exchange *exchange, struct span *piece); /* what is left of *piece comes again */
enum step exchange_end(struct exchange *exchange);

/* The reply becomes this error's. */
void exchange_fail(struct exchange *exchange, enum status status, struct error *err);
/* What the reply's maker returned; errors in the form of the route's protocol. */
void exchange_settle(struct exchange *exchange, enum status status, struct error *err);
/* Before a worker does something for whoever asks: hooks.see_as. */
enum status exchange_see(const struct exchange *exchange, void *worker, struct error *err) MUST_CHECK;
/* Whom its route's functions are called for. */
void *exchange_context(const struct exchange *exchange);
/* An empty reply to be filled; false: out of memory. */
bool exchange_make_reply(struct exchange *exchange);
void exchange_drop_reply(struct exchange *exchange);

/* ERR_UNAUTHORIZED once whoever was let in is unknown. */
enum status exchange_check(const struct exchange *exchange, struct error *err) MUST_CHECK;

/* The upload waits for http_upload_resume. True: suspended, the callback must return. */
bool exchange_wait(struct exchange *exchange);
/* The server stops, though a wake-up is owed: the connection goes on to its end, the upload lives until that comes. */
void exchange_detach(struct exchange *exchange);

/* admit.c: everything that is known from the headers. OK with a reply: it is answered already (405, OPTIONS, no routes yet). */
enum status admit(struct exchange *exchange, struct error *err) MUST_CHECK;

/* body.c */
enum status body_begin(struct exchange *exchange, struct error *err) MUST_CHECK;
/* *is_waiting: suspended, call again with what is left of *piece. */
enum status body_take(struct exchange *exchange, struct span *piece, bool *is_waiting, struct error *err) MUST_CHECK;
enum status body_end(struct exchange *exchange, bool *is_waiting, struct error *err) MUST_CHECK;

/* refusal.c */
enum step refusal_begin(struct exchange *exchange);
enum step refusal_drain(struct exchange *exchange);

/* stream.c: opens it; the reply then holds its head. */
enum status stream_open(struct exchange *exchange, struct error *err) MUST_CHECK;
/* > 0: bytes; 0: suspended; -1: the end. */
ssize_t stream_read(struct exchange *exchange, char *out, size_t room);
void stream_end(struct exchange *exchange);

/* produce.c: takes over the reply's producer, with what was written as the first batch. After an error there is none. */
enum status produce_begin(struct exchange *exchange, struct error *err) MUST_CHECK;
/* > 0: bytes; 0: suspended; -1: the end; PRODUCE_FAILED. */
enum { PRODUCE_FAILED = -2 };
ssize_t produce_read(struct exchange *exchange, char *out, size_t room);
void produce_leave(struct exchange *exchange); /* the connection ends: notes what the server's end has cut */
void produce_end(struct exchange *exchange);
