#include "state/audit.h"

#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "state/pipeline_state.h"
#include "state/jobs/secrets.h"
#include "store/audit.h"

#include <stdio.h>

/* Documents have at most 4 MiB; of what an entry tells of one of them at most SIDE_BYTES are kept. */
enum { THING_BYTES = 16 << 20, SIDE_BYTES = 64 << 10 };

void audit_act_as(struct pipeline *pipeline, const struct actor *actor)
{
	pthread_setspecific(pipeline->actor_key, actor);
}

const struct actor *audit_actor(const struct pipeline *pipeline)
{
	return pthread_getspecific(pipeline->actor_key);
}

static bool is_equal(const struct json *a, const struct json *b)
{
	AUTO_DONE(buf) first = BUF_INIT(THING_BYTES), second = BUF_INIT(THING_BYTES);

	if (!a || !b)
		return false;
	json_print(a, &first);
	json_print(b, &second);
	return span_equal(buf_span(&first), buf_span(&second));
}

/* Of the same name; NULL: there is none. */
static const struct json *find_like(const struct json *thing, const struct json *member)
{
	const struct json *like = json_first(thing);

	while (like && !span_equal(json_key_of(like), json_key_of(member)))
		like = json_next(like);
	return like;
}

/* The members of `from` that `other` has otherwise or not at all, and null for those that it alone has; all where there is no other. */
static void write_side(const struct json *from, const struct json *other, struct buf *out, size_t *count)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	for (const struct json *member = json_first(from); member; member = json_next(member)) {
		AUTO_DONE(buf) text = BUF_INIT(THING_BYTES);
		if (other && is_equal(member, find_like(other, member)))
			continue;
		json_print(member, &text);
		json_key_span(&w, json_key_of(member));
		json_raw(&w, buf_span(&text));
		(*count)++;
	}
	for (const struct json *member = other ? json_first(other) : NULL; member; member = json_next(member))
		if (!find_like(from, member)) {
			json_key_span(&w, json_key_of(member));
			json_null(&w);
		}
	json_object_end(&w);
}

static void shorten(struct buf *side)
{
	size_t len = side->len;

	if (len <= SIDE_BYTES)
		return;
	buf_reset(side);
	buf_printf(side, "{\"left_out_bytes\":%zu}", len);
}

/* As it was meant, in one line; its secrets are masked as those of a document are. */
static enum status put_body(struct span text, struct buf *out, struct error *err)
{
	AUTO(json) body = NULL;

	TRY(json_parse(&body, text, err));
	TRY(secrets_mask(body, err));
	json_print(body, out);
	return buf_status(out, err);
}

static enum status tell(const struct actor *actor, const struct buf *was, const struct buf *is, struct buf *before,
	struct buf *after, struct error *err)
{
	AUTO(json) old = NULL;
	AUTO(json) new = NULL;
	size_t changes = 0;

	if (was->len)
		TRY(json_parse(&old, buf_span(was), err));
	if (is->len)
		TRY(json_parse(&new, buf_span(is), err));
	if (old)
		write_side(old, new, before, &changes);
	if (new)
		write_side(new, old, after, &changes);
	if (!changes && actor->body.len) {
		buf_reset(before);
		buf_reset(after);
		TRY(put_body(actor->body, after, err));
	}
	shorten(before);
	shorten(after);
	TRY(buf_status(before, err));
	return buf_status(after, err);
}

/* A thing that has just come into being says what it is called. */
static void name_object(const struct actor *actor, const struct buf *is, struct buf *out)
{
	AUTO(json) thing = NULL;
	AUTO_DONE(buf) key = BUF_INIT(64);
	double number = 0;

	buf_append_span(out, actor->kind);
	if (actor->id.len) {
		buf_printf(out, "/%.*s", SPAN_ARGS(actor->id));
		return;
	}
	buf_printf(&key, "%.*s_id", (int)(actor->kind.len ? actor->kind.len - 1 : 0), actor->kind.ptr);
	buf_append_char(&key, 0);
	if (is->len && !key.failure && json_parse(&thing, buf_span(is), NULL) == OK &&
		json_number_of(json_get(thing, key.ptr), &number))
		buf_printf(out, "/%.0f", number);
}

static enum status put_entry(struct pipeline *pipeline, const struct actor *actor, struct store_tx *tx,
	const struct buf *was, const struct buf *is, struct error *err)
{
	AUTO_DONE(buf) before = BUF_INIT(THING_BYTES), after = BUF_INIT(THING_BYTES), object = BUF_INIT(2048);

	TRY(tell(actor, was, is, &before, &after, err));
	name_object(actor, is, &object);
	TRY(buf_status(&object, err));
	struct audit_row row = {.time_ms = clock_wall_ms(),
		.token = actor->token,
		.team = actor->team,
		.address = actor->address,
		.verb = actor->verb,
		.object = buf_span(&object),
		.before = buf_span(&before),
		.after = buf_span(&after)};
	return store_put_audit(tx, &row, atomic_load(&pipeline->audit_bytes), err);
}

enum status audit_run(struct pipeline *pipeline, const struct actor *actor, struct store_tx *tx,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context, struct error *err)
{
	AUTO_DONE(buf) was = BUF_INIT(THING_BYTES), is = BUF_INIT(THING_BYTES);

	if (!actor)
		return work(context, tx, err);
	struct audited_thing thing = {actor->kind, actor->id, actor->team, actor->token};
	bool is_known = actor->id.len || !span_equal(actor->verb, SPAN("create"));
	if (is_known)
		TRY(store_read_audited(store_tx_reader(tx), &thing, &was, err));
	TRY(work(context, tx, err));
	if (actor->becomes && actor->becomes->len && !span_equal(*actor->becomes, actor->id)) {
		buf_reset(&was); /* of the other thing that has the name */
		thing.id = *actor->becomes;
	}
	TRY(store_read_audited(store_tx_reader(tx), &thing, &is, err));
	return put_entry(pipeline, actor, tx, &was, &is, err);
}
