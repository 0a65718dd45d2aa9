#include "people/sign_ins.h"

#include "base/clock.h"

#include <pthread.h>

struct sign_ins {
	pthread_mutex_t mutex;
	size_t most, next; /* next: what is put there next is newer than all others */
	struct sign_in *all[];
};

enum status sign_ins_new(struct sign_ins **out, size_t most, struct error *err)
{
	struct sign_ins *all = mem_zeroed(sizeof *all + most * sizeof *all->all);

	if (!all)
		return error_no_memory(err);
	all->most = most;
	pthread_mutex_init(&all->mutex, NULL);
	*out = all;
	return OK;
}

void sign_ins_free(struct sign_ins *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->most; i++)
		mem_free(all->all[i]);
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

enum status sign_ins_put(struct sign_ins *all, const struct sign_in *one, struct error *err)
{
	struct sign_in *copy = mem_alloc(sizeof *copy);

	if (!copy)
		return error_no_memory(err);
	*copy = *one;
	pthread_mutex_lock(&all->mutex);
	struct sign_in *oldest = all->all[all->next];
	all->all[all->next] = copy;
	all->next = (all->next + 1) % all->most;
	pthread_mutex_unlock(&all->mutex);
	mem_free(oldest);
	return OK;
}

bool sign_ins_take(struct sign_ins *all, struct span state, struct sign_in *out)
{
	struct sign_in *found = NULL;

	if (state.len != SIGN_IN_TEXT_BYTES)
		return false;
	pthread_mutex_lock(&all->mutex);
	for (size_t i = 0; i < all->most && !found; i++)
		if (all->all[i] && crypto_equal(all->all[i]->state, state.ptr, SIGN_IN_TEXT_BYTES))
			found = TAKE(all->all[i]);
	pthread_mutex_unlock(&all->mutex);
	if (!found)
		return false;
	*out = *found;
	mem_free(found);
	return clock_mono_ms() < out->until_mono_ms;
}
