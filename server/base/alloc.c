#include "base/alloc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Allocation has no argument that could carry them. countdown: of the failure sweeps of unit tests; 0, off, in production. */
static _Thread_local struct {
	long countdown;
	int (*wait)(void *context);
	void *context;
} thread_state;

static int must_fail(void)
{
	return thread_state.countdown && --thread_state.countdown == 0;
}

int mem_may_come(void)
{
	return thread_state.wait && thread_state.wait(thread_state.context);
}

void mem_fail_at(long nth)
{
	thread_state.countdown = nth;
}

void mem_wait(int (*wait)(void *context), void *context)
{
	thread_state.wait = wait;
	thread_state.context = context;
}

void *mem_try(size_t bytes)
{
	return must_fail() ? NULL : malloc(bytes ? bytes : 1);
}

void *mem_alloc(size_t bytes)
{
	void *block;

	do
		block = mem_try(bytes);
	while (!block && mem_may_come());
	return block;
}

void *mem_zeroed(size_t bytes)
{
	void *block;

	do
		block = must_fail() ? NULL : calloc(1, bytes ? bytes : 1);
	while (!block && mem_may_come());
	return block;
}

void *mem_resize(void *old, size_t count, size_t item_bytes)
{
	void *block;

	if (item_bytes && count > SIZE_MAX / item_bytes)
		return NULL;
	do
		block = must_fail() ? NULL : realloc(old, count && item_bytes ? count * item_bytes : 1);
	while (!block && mem_may_come());
	return block;
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
