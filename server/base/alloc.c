#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The failure sweep of the unit tests needs one counter for the whole process; 0 means off, the only production state. */
static struct {
	atomic_long countdown;
} state;

static int must_fail(void)
{
	if (atomic_load_explicit(&state.countdown, memory_order_relaxed) == 0)
		return 0;
	return atomic_fetch_sub(&state.countdown, 1) == 1;
}

void mem_fail_at(long nth)
{
	atomic_store(&state.countdown, nth);
}

void *mem_alloc(size_t bytes)
{
	return must_fail() ? NULL : malloc(bytes ? bytes : 1);
}

void *mem_zeroed(size_t bytes)
{
	return must_fail() ? NULL : calloc(1, bytes ? bytes : 1);
}

void *mem_resize(void *old, size_t count, size_t item_bytes)
{
	if (item_bytes && count > SIZE_MAX / item_bytes)
		return NULL;
	return must_fail() ? NULL : realloc(old, count && item_bytes ? count * item_bytes : 1);
}

char *mem_copy_string(const char *text)
{
	return mem_copy_bytes(text, strlen(text));
}

char *mem_copy_bytes(const char *bytes, size_t len)
{
	char *copy = len == SIZE_MAX ? NULL : mem_alloc(len + 1);

	if (copy) {
		if (len)
			memcpy(copy, bytes, len);
		copy[len] = 0;
	}
	return copy;
}

void mem_free(void *block)
{
	free(block);
}

void mem_give_back(void)
{
	malloc_trim(0);
}

int mem_grow(void **items, size_t count, size_t *cap, size_t item_bytes)
{
	if (count < *cap)
		return 1;
	size_t wanted = *cap ? *cap * 2 : 8;
	void *grown = mem_resize(*items, wanted, item_bytes);
	if (!grown)
		return 0;
	*items = grown;
	*cap = wanted;
	return 1;
}
