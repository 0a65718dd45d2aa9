/*
 * Job: what a door for lines or points has of its own: which protocol takes a body, and how it is answered. upload.c has what
 *      all of them share: slices, the writer, waiting.
 * Ownership and threads: as http_upload_ops; a door is constant.
 */
#pragma once

#include "api/core/api_state.h"
#include "ingest/ingest.h"

struct upload_result {
	enum status status; /* not OK: only doors that tell errors themselves see it */
	size_t accepted, duplicate, rejected, cut;
	size_t refused; /* of the rejected: for want of room for their series */
	size_t no_job; /* of the rejected: nobody said of which job they are */
	bool has_committed;
	bool has_offset;
	uint64_t seq, next_offset;
	struct span warning;
	const char *session; /* "": none */
};

enum { PLACE_NAME_MAX_BYTES = 255, PLACE_LABELS_MAX_BYTES = 1024 };
struct upload_place {
	char job[PLACE_NAME_MAX_BYTES + 1], stream[PLACE_NAME_MAX_BYTES + 1];
	char labels[PLACE_LABELS_MAX_BYTES + 1]; /* name="value",… */
};

struct upload_door {
	const struct ingest_protocol *(*protocol)(struct span content_type); /* NULL: none takes it */
	const char *media; /* that it takes, in words */
	bool needs_job; /* in the query */
	bool counts_points; /* offset= does, and a body that has one is stored whole or not at all */
	/* Where the path says the job, the stream and labels (a push); NULL: the query does. out is empty. */
	enum status (*place)(const struct http_request *request, struct upload_place *out, struct error *err);
	bool is_prometheus; /* its own list of labels names the job, and its rejections are counted as samples */
	bool takes_whole; /* its protocols take a body as a whole, and unpack snappy */
	bool tells_errors; /* of decoding and storing, in its protocol's own form; else they are problem+json */
	void (*reply)(const struct api *api, const struct ingest_protocol *protocol, const struct upload_result *result,
		const struct error *err, struct http_response *response);
};

enum status upload_begin(struct api *api, const struct upload_door *door, const struct http_request *request,
	struct http_upload *handle, void **out, struct error *err) MUST_CHECK;
enum status upload_feed(void *upload, struct span bytes, bool *must_wait, struct error *err) MUST_CHECK;
enum status upload_finish(void *upload, struct http_response *response, bool *must_wait, struct error *err) MUST_CHECK;
void upload_abort(void *upload);

/* Hands slices that have waited long enough to the writer. One thread at a time (upload_timer.h). */
void uploads_hand_over(struct api *api, int64_t now_ms);
