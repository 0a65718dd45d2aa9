#include "people/sign_ins.h"

#include "base/clock.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Of those that came back. Whoever brings back so many makes it forget one, whose code the provider does not take twice either. */
enum { TAKEN_MAX = 4096 };

struct sign_ins {
	unsigned char key[SEAL_KEY_BYTES];
	pthread_mutex_t mutex;
	size_t next; /* what is put there next is newer than all others */
	unsigned char taken[TAKEN_MAX][SHA256_BYTES]; /* of their states */
};

enum status sign_ins_new(struct sign_ins **out, struct error *err)
{
	struct sign_ins *all = mem_zeroed(sizeof *all);

	if (!all)
		return error_no_memory(err);
	crypto_random(all->key, sizeof all->key);
	pthread_mutex_init(&all->mutex, NULL);
	*out = all;
	return OK;
}

void sign_ins_free(struct sign_ins *all)
{
	if (!all)
		return;
	pthread_mutex_destroy(&all->mutex);
	mem_free(all);
}

static void print(const unsigned char *bytes, char out[SIGN_IN_TEXT_BYTES + 1])
{
	AUTO_DONE(buf) text = BUF_INIT(64);

	crypto_base64url(span_of((const char *)bytes, SIGN_IN_RANDOM_BYTES), &text);
	memset(out, 0, SIGN_IN_TEXT_BYTES + 1);
	if (text.len == SIGN_IN_TEXT_BYTES)
		memcpy(out, text.ptr, SIGN_IN_TEXT_BYTES);
}

void sign_in_random(char out[SIGN_IN_TEXT_BYTES + 1])
{
	unsigned char bytes[SIGN_IN_RANDOM_BYTES];

	crypto_random(bytes, sizeof bytes);
	print(bytes, out);
}

void sign_in_challenge(const char *verifier, char out[SIGN_IN_TEXT_BYTES + 1])
{
	unsigned char hash[SHA256_BYTES];

	crypto_sha256(span_from(verifier), hash);
	print(hash, out);
}

/* Two slashes, or what browsers take for one, begin the name of another server. */
bool sign_in_is_return_path(struct span path)
{
	if (!span_starts_with(path, SPAN("/")) || path.len > SIGN_IN_RETURN_BYTES || !span_is_utf8(path) ||
		(path.len > 1 && path.ptr[1] == '/'))
		return false;
	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7f || path.ptr[i] == '\\')
			return false;
	return true;
}

enum status sign_ins_write_state(
	const struct sign_ins *all, const struct sign_in *one, struct buf *state, struct error *err)
{
	AUTO_DONE(buf) sealed = BUF_INIT(SIGN_IN_STATE_BYTES);
	size_t len = offsetof(struct sign_in, return_path) + strlen(one->return_path);

	TRY(crypto_seal(all->key, span_of((const char *)one, len), &sealed, err));
	crypto_base64url(buf_span(&sealed), state);
	return buf_status(state, err);
}

static bool open_state(const struct sign_ins *all, struct span state, struct sign_in *out)
{
	AUTO_DONE(buf) sealed = BUF_INIT(SIGN_IN_STATE_BYTES), plain = BUF_INIT(sizeof *out);

	if (!state.len || state.len > SIGN_IN_STATE_BYTES || !crypto_unbase64url(state, &sealed) ||
		crypto_unseal(all->key, buf_span(&sealed), &plain, NULL) != OK || plain.len >= sizeof *out)
		return false;
	memset(out, 0, sizeof *out);
	memcpy(out, plain.ptr, plain.len);
	return clock_mono_ms() < out->until_mono_ms;
}

/* False: it was noted before. */
static bool note_taken(struct sign_ins *all, struct span state)
{
	unsigned char hash[SHA256_BYTES];
	bool is_new = true;

	crypto_sha256(state, hash);
	pthread_mutex_lock(&all->mutex);
	for (size_t i = 0; i < TAKEN_MAX && is_new; i++)
		is_new = memcmp(all->taken[i], hash, sizeof hash) != 0;
	if (is_new) {
		memcpy(all->taken[all->next], hash, sizeof hash);
		all->next = (all->next + 1) % TAKEN_MAX;
	}
	pthread_mutex_unlock(&all->mutex);
	return is_new;
}

bool sign_ins_take(struct sign_ins *all, struct span state, struct sign_in *out)
{
	return open_state(all, state, out) && note_taken(all, state);
}
