/*
 * Job: the only caller of malloc, so that tests can make the n-th allocation fail; scope cleanup.
 * Ownership: every result is freed by mem_free. Threads: any; mem_fail_at and mem_wait are of the thread that calls them.
 */
#pragma once

#include <stddef.h>

void *mem_alloc(size_t bytes) __attribute__((malloc, warn_unused_result));
void *mem_zeroed(size_t bytes) __attribute__((malloc, warn_unused_result));
/* NULL on failure or when count * item_bytes overflows; the old block then stays valid. */
void *mem_resize(void *old, size_t count, size_t item_bytes) __attribute__((warn_unused_result));
char *mem_copy_string(const char *text) __attribute__((malloc, warn_unused_result));
/* len bytes and a NUL behind them. */
char *mem_copy_bytes(const char *bytes, size_t len) __attribute__((malloc, warn_unused_result));
void mem_free(void *block);

/* Grows *items (count used of *cap) so that one more fits; returns 0 when memory is out. Items keep their values. */
int mem_grow(void **items, size_t count, size_t *cap, size_t item_bytes);

/* What is free goes back to the machine; a few milliseconds. */
void mem_give_back(void);

/*
 * An allocation of this thread that fails is tried again for as long as `wait`, which takes its time, says so: for work that
 * cannot be undone half-way. NULL: it fails at once.
 */
void mem_wait(int (*wait)(void *context), void *context);
/* The two halves of that, for who must not wait inside: one attempt, and whether to make another, after a while. */
void *mem_try(size_t bytes) __attribute__((malloc, warn_unused_result));
int mem_may_come(void);

/* Tests only: this thread's n-th allocation from now on fails (1 = the next one), once; 0 turns it off. */
void mem_fail_at(long nth);

/*
 * AUTO(type) name = …; frees by type_free when the scope ends, however it ends. Hand ownership on by TAKE().
 * Each such type says AUTO_TYPE(type) once, beside the declaration of type_free.
 */
#define AUTO_TYPE(type)                                                                                                \
	static inline void type##_cleanup_(struct type **object)                                                       \
	{                                                                                                              \
		type##_free(*object);                                                                                  \
	}
#define AUTO(type) __attribute__((cleanup(type##_cleanup_))) struct type *

/* AUTO_DONE(type) name = …; the same for values that live in place and end by type_done. */
#define AUTO_DONE_TYPE(type)                                                                                           \
	static inline void type##_cleanup_done_(struct type *object)                                                   \
	{                                                                                                              \
		type##_done(object);                                                                                   \
	}
#define AUTO_DONE(type) __attribute__((cleanup(type##_cleanup_done_))) struct type

static inline void mem_cleanup_(void *pointer)
{
	mem_free(*(void **)pointer);
}
/* AUTO_MEM char *text = mem_alloc(…); */
#define AUTO_MEM __attribute__((cleanup(mem_cleanup_)))

/* Hands over what an AUTO variable or a field holds: its value, and NULL stays behind. */
#define TAKE(pointer)                                                                                                  \
	({                                                                                                             \
		typeof(pointer) taken_ = (pointer);                                                                    \
		(pointer) = NULL;                                                                                      \
		taken_;                                                                                                \
	})
