#include "base/text/regex.h"
#include "base/clock.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdatomic.h>

enum { JIT_STACK_START_BYTES = 32 << 10, JIT_STACK_MAX_BYTES = 512 << 10 };
enum { HEAP_LIMIT_KIB = 32 << 10, DEFAULT_MATCH_STEPS = 1000000 };
enum { WATCH_STRIDE = 256, WATCH_TEXT_BYTES = 4096 }; /* a step takes as long as its text is */
/*
 * A search that nobody watches costs QUICK_WORK at most: each byte that a match may begin with may start one, and each step of it may
 * read all of the text. What needs more is watched, and has so much of its thread's own time: a process that was stopped loses no value.
 * (Watched it also takes ten times as long: between all its parts PCRE2 copies what its groups are so far.)
 */
enum { QUICK_WORK = 32 << 20, QUICK_TEXT_BYTES = 4096 };
enum { LONG_NS = 100000000, LONG_NS_A_BYTE = 250, PERCENT = 100 };
enum { STAGES = 3, STAGE_STEPS_MIN = 1000 }; /* a match may take 1 %, 10 % or all of the limit */

/*
 * Machine code is made with the first search: of some hundred patterns that a server knows, most meet no line that gets as far as
 * them, and all together they were a sixth of its start.
 */
enum { JIT_UNTRIED, JIT_MADE, JIT_NONE };

struct form {
	pcre2_code *code;
	_Atomic(int) jit; /* changed by one thread, before any searches by this form */
	pthread_mutex_t making;
};

struct regex {
	struct form plain;
	_Atomic(struct form *) watched; /* that calls out before each of its parts; made when it is first needed */
	unsigned groups; /* with group 0 */
	unsigned flags;
	int first; /* the byte that each match begins with, or -1 */
	bool is_anchored; /* no match begins elsewhere than where the search does */
	size_t len;
	char pattern[];
};

struct regex_scratch {
	pcre2_match_context *contexts[STAGES];
	uint32_t limits[STAGES];
	pcre2_match_data *data;
	pcre2_jit_stack *stack;
	struct regex_watch watch;
	int64_t until_ms; /* of a watch that is the clock alone */
	unsigned steps_until_asked;
	int64_t began_ns, most_ns, asked_ms; /* of a watch that is this thread's time */
	bool is_late;
};

static void *allocate(size_t bytes, void *unused)
{
	(void)unused;
	return mem_alloc(bytes);
}

static void release(void *block, void *unused)
{
	(void)unused;
	mem_free(block);
}

static pcre2_general_context *general_context(void)
{
	return pcre2_general_context_create(allocate, release, NULL);
}

/* In byte mode a pattern must not switch UTF on by itself ("(*UTF)"): subjects would then have to be checked first. */
static uint32_t options_of(unsigned flags)
{
	uint32_t options = PCRE2_NEVER_BACKSLASH_C;

	options |= flags & REGEX_IGNORE_CASE ? PCRE2_CASELESS : 0;
	options |= flags & REGEX_MULTILINE ? PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX : 0;
	options |= flags & REGEX_ANCHORED ? PCRE2_ANCHORED : 0;
	options |= flags & REGEX_UTF ? PCRE2_UTF : PCRE2_NEVER_UTF;
	options |= flags & REGEX_UTF && !(flags & REGEX_VALID) ? PCRE2_MATCH_INVALID_UTF : 0;
	return options;
}

static enum status pattern_error(struct error *err, int code, size_t offset)
{
	char text[256];

	if (code == PCRE2_ERROR_HEAP_FAILED)
		return error_no_memory(err);
	pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
	error_set(err, ERR_SEMANTIC, "not a valid regular expression at offset %zu: %s", offset, text);
	if (err)
		err->column = (int64_t)offset + 1;
	return ERR_SEMANTIC;
}

static void form_done(struct form *form)
{
	if (form && form->code)
		pthread_mutex_destroy(&form->making);
	if (form)
		pcre2_code_free(form->code);
}

/* Without JIT (not built in, forbidden by the system, or "(*NO_JIT)") the interpreter does the same, slower. */
static bool compile_jit(pcre2_code *code)
{
	size_t bytes = 0;

	return pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0 &&
	       pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &bytes) == 0 && bytes > 0;
}

/* By the JIT of PCRE2 10.42 \S, \D and \W are no character of two bytes where text need not be valid UTF-8. */
static bool is_misread_by_jit(struct span pattern, uint32_t options)
{
	bool has_inverse = false;

	for (size_t i = 0; i + 1 < pattern.len; i++)
		has_inverse |= pattern.ptr[i] == '\\' && pattern.ptr[i + 1] && strchr("SDW", pattern.ptr[i + 1]);
	return has_inverse && options & PCRE2_MATCH_INVALID_UTF;
}

/* The others wait: the pattern is changed by it, and they read it. */
static int make_jit(struct form *form)
{
	pthread_mutex_lock(&form->making);
	int jit = atomic_load(&form->jit);
	if (jit == JIT_UNTRIED)
		atomic_store(&form->jit, jit = compile_jit(form->code) ? JIT_MADE : JIT_NONE);
	pthread_mutex_unlock(&form->making);
	return jit;
}

static bool has_jit(const struct form *form)
{
	int jit = atomic_load_explicit(&form->jit, memory_order_acquire);

	return (jit != JIT_UNTRIED ? jit : make_jit((struct form *)form)) == JIT_MADE;
}

static enum status compile(struct form *form, struct span pattern, uint32_t options, struct error *err)
{
	pcre2_general_context *general = general_context();
	pcre2_compile_context *context = general ? pcre2_compile_context_create(general) : NULL;
	PCRE2_SIZE offset = 0;
	int code = PCRE2_ERROR_HEAP_FAILED;

	if (context)
		form->code = pcre2_compile(
			(PCRE2_SPTR)(pattern.ptr ? pattern.ptr : ""), pattern.len, options, &code, &offset, context);
	pcre2_compile_context_free(context);
	pcre2_general_context_free(general);
	if (!form->code)
		return pattern_error(err, code, offset);
	pthread_mutex_init(&form->making, NULL);
	if (is_misread_by_jit(pattern, options))
		atomic_store(&form->jit, JIT_NONE);
	return OK;
}

/* Of a letter either case may be meant: PCRE2 does not say whether both are. */
static int first_of(const pcre2_code *code)
{
	uint32_t kind = 0, byte = 0;

	pcre2_pattern_info(code, PCRE2_INFO_FIRSTCODETYPE, &kind);
	pcre2_pattern_info(code, PCRE2_INFO_FIRSTCODEUNIT, &byte);
	return kind == 1 && byte < 0x80 ? (int)byte : -1;
}

/* By REGEX_ANCHORED, or by its own '^'. */
static bool is_anchored(const pcre2_code *code)
{
	uint32_t options = 0;

	pcre2_pattern_info(code, PCRE2_INFO_ALLOPTIONS, &options);
	return options & PCRE2_ANCHORED;
}

enum status regex_new(struct regex **out, struct span pattern, unsigned flags, struct error *err)
{
	AUTO(regex) regex = mem_zeroed(sizeof *regex + pattern.len);
	uint32_t groups = 0;

	if (!regex)
		return error_no_memory(err);
	TRY(compile(&regex->plain, pattern, options_of(flags), err));
	pcre2_pattern_info(regex->plain.code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups >= REGEX_MAX_GROUPS)
		return error_set(err, ERR_SEMANTIC, "the regular expression has %u groups, more than %d", groups,
			REGEX_MAX_GROUPS - 1);
	regex->groups = groups + 1;
	regex->flags = flags;
	regex->first = first_of(regex->plain.code);
	regex->is_anchored = is_anchored(regex->plain.code);
	regex->len = pattern.len;
	if (pattern.len)
		memcpy(regex->pattern, pattern.ptr, pattern.len);
	*out = TAKE(regex);
	return OK;
}

void regex_quote(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] & 0x80)
			buf_append_char(out, text.ptr[i]);
		else
			buf_printf(out, "\\x%02x", text.ptr[i]);
}

void regex_free(struct regex *regex)
{
	if (!regex)
		return;
	struct form *watched = atomic_load(&regex->watched);
	form_done(&regex->plain);
	form_done(watched);
	mem_free(watched);
	mem_free(regex);
}

unsigned regex_group_count(const struct regex *regex)
{
	return regex->groups - 1;
}

int regex_group(const struct regex *regex, const char *name)
{
	int number = pcre2_substring_number_from_name(regex->plain.code, (PCRE2_SPTR)name);

	return number < 0 ? -1 : number;
}

/* Of each part of a watched pattern that is tried. */
static int ask_watch(pcre2_callout_block *at, void *context)
{
	struct regex_scratch *scratch = context;

	if (!scratch->watch.must_stop || scratch->steps_until_asked) {
		scratch->steps_until_asked -= scratch->steps_until_asked > 0;
		return 0;
	}
	if (scratch->watch.must_stop(scratch->watch.context))
		return PCRE2_ERROR_CALLOUT; /* and so will the next search, at its first step */
	scratch->steps_until_asked = at->subject_length > WATCH_TEXT_BYTES ? 0 : WATCH_STRIDE;
	return 0;
}

static bool add_context(struct regex_scratch *scratch, size_t stage, pcre2_general_context *general)
{
	pcre2_match_context *context = scratch->contexts[stage] = pcre2_match_context_create(general);

	if (!context)
		return false;
	pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
	pcre2_set_callout(context, ask_watch, scratch);
	if (scratch->stack) /* else the machine stack of 32 KiB that JIT code brings along */
		pcre2_jit_stack_assign(context, NULL, scratch->stack);
	return true;
}

static bool fill_scratch(struct regex_scratch *scratch)
{
	pcre2_general_context *general = general_context();
	bool is_whole = general != NULL;

	if (general) {
		scratch->data = pcre2_match_data_create(REGEX_MAX_GROUPS, general);
		scratch->stack = pcre2_jit_stack_create(JIT_STACK_START_BYTES, JIT_STACK_MAX_BYTES, general);
	}
	for (size_t i = 0; i < STAGES && is_whole; i++)
		is_whole = add_context(scratch, i, general);
	pcre2_general_context_free(general);
	return is_whole && scratch->data;
}

struct regex_scratch *regex_scratch_new(void)
{
	AUTO(regex_scratch) scratch = mem_zeroed(sizeof *scratch);

	if (!scratch || !fill_scratch(scratch))
		return NULL;
	regex_scratch_limit(scratch, DEFAULT_MATCH_STEPS);
	return TAKE(scratch);
}

void regex_scratch_free(struct regex_scratch *scratch)
{
	if (!scratch)
		return;
	pcre2_jit_stack_free(scratch->stack);
	pcre2_match_data_free(scratch->data);
	for (size_t i = 0; i < STAGES; i++)
		pcre2_match_context_free(scratch->contexts[i]);
	mem_free(scratch);
}

void regex_scratch_watch(struct regex_scratch *scratch, struct regex_watch watch)
{
	scratch->watch = watch;
	scratch->steps_until_asked = 0;
}

static bool is_late(void *context)
{
	return clock_mono_ms() > ((const struct regex_scratch *)context)->until_ms;
}

void regex_scratch_until(struct regex_scratch *scratch, int64_t until_mono_ms)
{
	scratch->until_ms = until_mono_ms;
	regex_scratch_watch(scratch, (struct regex_watch){is_late, scratch});
}

void regex_scratch_limit(struct regex_scratch *scratch, uint32_t match_steps)
{
	for (size_t i = STAGES; i-- > 0;
		match_steps = match_steps / 10 > STAGE_STEPS_MIN ? match_steps / 10 : match_steps) {
		scratch->limits[i] = match_steps;
		pcre2_set_match_limit(scratch->contexts[i], match_steps);
	}
}

static void copy_groups(const struct regex *regex, struct regex_scratch *scratch, unsigned set, const char *subject,
	struct span *groups)
{
	const PCRE2_SIZE *edges = pcre2_get_ovector_pointer(scratch->data);

	for (unsigned i = 0; i < regex->groups; i++) {
		size_t start = edges[2 * i], end = edges[2 * i + 1];
		bool took_part = i < set && start != PCRE2_UNSET;
		groups[i] = took_part ? span_of(subject + start, end > start ? end - start : 0) : span_of(NULL, 0);
	}
}

/* NULL: no memory, or too large with what is put between its parts. */
static const struct form *watched_form(const struct regex *regex)
{
	struct regex *own = (struct regex *)regex; /* what is made late does not change what it matches */
	_Atomic(struct form *) *place = &own->watched;
	struct form *form = atomic_load(place), *first = NULL;

	if (form || !(form = mem_zeroed(sizeof *form)))
		return form;
	if (compile(form, span_of(regex->pattern, regex->len), options_of(regex->flags) | PCRE2_AUTO_CALLOUT, NULL) !=
		OK) {
		mem_free(form);
		return NULL;
	}
	if (atomic_compare_exchange_strong(place, &first, form))
		return form;
	form_done(form);
	mem_free(form);
	return first;
}

/* What PCRE2 says. */
static int match(const struct regex *regex, struct regex_scratch *scratch, struct span subject, size_t from,
	pcre2_match_context *context)
{
	const struct form *form = scratch->watch.must_stop ? watched_form(regex) : &regex->plain;
	PCRE2_SPTR text = (PCRE2_SPTR)subject.ptr;
	uint32_t options = regex->flags & REGEX_VALID ? PCRE2_NO_UTF_CHECK : 0;

	if (!form)
		return PCRE2_ERROR_MATCHLIMIT;
	if (has_jit(form))
		return pcre2_jit_match(form->code, text, subject.len, from, 0, scratch->data, context);
	return pcre2_match(form->code, text, subject.len, from, options, scratch->data, context);
}

static enum regex_result result_of(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	int result, struct span groups[REGEX_MAX_GROUPS])
{
	if (result == PCRE2_ERROR_NOMATCH)
		return REGEX_NO_MATCH;
	if (result <= 0)
		return REGEX_LIMIT;
	copy_groups(regex, scratch, (unsigned)result, subject.ptr, groups);
	return REGEX_MATCH;
}

enum regex_result regex_search(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	size_t from, struct span groups[REGEX_MAX_GROUPS])
{
	if (from > subject.len)
		return REGEX_NO_MATCH;
	subject.ptr = subject.ptr ? subject.ptr : "";
	return result_of(
		regex, scratch, subject, match(regex, scratch, subject, from, scratch->contexts[STAGES - 1]), groups);
}

enum regex_result regex_search_within(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	size_t from, struct span groups[REGEX_MAX_GROUPS], uint32_t match_steps)
{
	pcre2_match_context *context = scratch->contexts[STAGES - 1];
	struct regex_watch watch = scratch->watch;

	if (watch.must_stop && watch.must_stop(watch.context))
		return REGEX_LIMIT; /* else many short searches would have no end */
	scratch->watch.must_stop = NULL;
	pcre2_set_match_limit(context, match_steps);
	enum regex_result result = regex_search(regex, scratch, subject, from, groups);
	pcre2_set_match_limit(context, scratch->limits[STAGES - 1]);
	scratch->watch = watch;
	return result;
}

/* How many places of the text a match may begin at. */
static uint64_t count_starts(const struct regex *regex, struct span text)
{
	unsigned char first = (unsigned char)regex->first, either = isalpha(first) ? 0x20 : 0;
	uint64_t count = 1;

	if (regex->is_anchored)
		return 1;
	if (regex->first < 0)
		return text.len + 1;
	for (size_t i = 0; i < text.len; i++)
		count += ((unsigned char)text.ptr[i] | either) == (first | either);
	return count;
}

static int match_quickly(const struct regex *regex, struct regex_scratch *scratch, struct span subject, size_t from)
{
	uint64_t len = subject.len - from + 1;

	if (len > QUICK_TEXT_BYTES || scratch->watch.must_stop)
		return PCRE2_ERROR_MATCHLIMIT;
	uint64_t steps = QUICK_WORK / (len * count_starts(regex, span_of(subject.ptr + from, subject.len - from)));
	pcre2_set_match_limit(scratch->contexts[0], steps < scratch->limits[0] ? (uint32_t)steps : scratch->limits[0]);
	int result = match(regex, scratch, subject, from, scratch->contexts[0]);
	pcre2_set_match_limit(scratch->contexts[0], scratch->limits[0]);
	return result;
}

/* The thread's clock is a system call: it is looked at once a millisecond. */
static bool has_run_long(void *context)
{
	struct regex_scratch *scratch = context;
	int64_t now_ms = clock_mono_ms();

	if (now_ms != scratch->asked_ms)
		scratch->is_late = clock_thread_ns() - scratch->began_ns > scratch->most_ns;
	scratch->asked_ms = now_ms;
	return scratch->is_late;
}

/* With the limit of one stage after the other. */
static int match_watched(
	const struct regex *regex, struct regex_scratch *scratch, struct span subject, size_t from, unsigned *percent)
{
	static const unsigned at_least[STAGES + 1] = {0, 1, 10, PERCENT};
	struct regex_watch before = scratch->watch;
	size_t stage = 0;
	int result;

	scratch->is_late = false;
	scratch->asked_ms = 0;
	scratch->began_ns = clock_thread_ns();
	scratch->most_ns = LONG_NS + (int64_t)(subject.len - from) * LONG_NS_A_BYTE;
	if (!before.must_stop)
		regex_scratch_watch(scratch, (struct regex_watch){has_run_long, scratch});
	do
		result = match(regex, scratch, subject, from, scratch->contexts[stage]);
	while (result == PCRE2_ERROR_MATCHLIMIT && scratch->limits[stage++] < scratch->limits[STAGES - 1]);
	scratch->watch = before;
	bool is_given_up = result < 0 && result != PCRE2_ERROR_NOMATCH;
	int64_t of_time = (clock_thread_ns() - scratch->began_ns) * PERCENT / scratch->most_ns;
	*percent = at_least[is_given_up ? STAGES : stage];
	*percent = *percent < of_time ? (unsigned)of_time : *percent;
	*percent = scratch->is_late ? REGEX_LATE_PERCENT : *percent;
	return result;
}

enum regex_result regex_search_counted(const struct regex *regex, struct regex_scratch *scratch, struct span subject,
	size_t from, struct span groups[REGEX_MAX_GROUPS], unsigned *percent)
{
	*percent = 0;
	if (from > subject.len)
		return REGEX_NO_MATCH;
	subject.ptr = subject.ptr ? subject.ptr : "";
	int result = match_quickly(regex, scratch, subject, from);
	if (result == PCRE2_ERROR_MATCHLIMIT)
		result = match_watched(regex, scratch, subject, from, percent);
	else if (result < 0 && result != PCRE2_ERROR_NOMATCH)
		*percent = PERCENT;
	return result_of(regex, scratch, subject, result, groups);
}
