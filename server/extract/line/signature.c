#include "extract/line/signature.h"

#include "base/arena.h"
#include "extract/line/kernel_line.h"
#include "extract/line/sieve.h"

#include <stdio.h>

enum { FIELD_BYTES = 64, TESTED_BYTES = 16 << 10 };

struct compiled {
	struct signature shown;
	struct regex *regex;
	int host_group; /* < 1: none */
};

struct signature_set {
	struct json *json; /* holds the texts */
	struct arena *arena;
	struct sieve *sieve, *kernel_sieve; /* those of the kernel's lines cost the others nothing */
	struct compiled *items;
	size_t count;
};

void signature_set_free(struct signature_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++)
		regex_free(set->items[i].regex);
	sieve_free(set->sieve);
	sieve_free(set->kernel_sieve);
	json_free(set->json);
	arena_free(set->arena);
	mem_free(set);
}

static enum status refuse(struct error *err, const char *field, const char *member, const char *why)
{
	char name[FIELD_BYTES * 2];

	snprintf(name, sizeof name, "%s.%s", field, member);
	return error_set_field(err, ERR_SEMANTIC, name, "%s %s", name, why);
}

static enum status want(
	const struct json *node, const char *member, const char *field, struct span *out, struct error *err)
{
	*out = json_string_of(json_get(node, member));
	return out->len ? OK : refuse(err, field, member, "is missing or empty");
}

static enum status read_about(const struct json *node, const char *field, enum signature_about *out, struct error *err)
{
	static const char *const names[] = {"run", "node", "symptom", "service"};
	struct span about = json_string_of(json_get(node, "about"));

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(about, span_from(names[i]))) {
			*out = (enum signature_about)i;
			return OK;
		}
	return refuse(err, field, "about", "is none of run, node, symptom, service");
}

static enum status read_beneath(const struct json *node, const char *field, uint32_t *out, struct error *err)
{
	const struct json *list = json_get(node, "beneath");
	enum incident_kind kind;

	for (const struct json *at = json_first(list); at; at = json_next(at)) {
		if (!incident_kind_parse(json_string_of(at), &kind))
			return refuse(err, field, "beneath", "names no kind of incident");
		*out |= UINT32_C(1) << kind;
	}
	return OK;
}

static enum status read_signature(struct signature *out, const struct json *node, const char *field, struct error *err)
{
	TRY(want(node, "title", field, &out->title, err));
	TRY(want(node, "cause", field, &out->cause, err));
	TRY(want(node, "action", field, &out->action, err));
	TRY(read_about(node, field, &out->about, err));
	TRY(read_beneath(node, field, &out->beneath, err));
	out->is_drain = json_is_true(json_get(node, "drain"));
	out->is_nonfatal = json_is_true(json_get(node, "nonfatal"));
	if (out->is_drain && out->is_nonfatal)
		return refuse(err, field, "nonfatal", "goes with drain");
	out->is_kernel = json_is_true(json_get(node, "kernel"));
	out->is_check = json_is_true(json_get(node, "check"));
	out->warning_on = json_get(node, "warning_on");
	if (!severity_parse(json_string_of(json_get(node, "severity")), &out->severity))
		return refuse(err, field, "severity", "is none of info, warning, critical");
	return OK;
}

static enum status add(struct signature_set *set, const struct json *node, const char *list, size_t index,
	bool is_checkpoint, struct error *err)
{
	struct compiled *item = &set->items[set->count];
	char field[FIELD_BYTES];

	snprintf(field, sizeof field, "%s[%zu]", list, index);
	*item = (struct compiled){.shown.about = SIGNATURE_CHECKPOINT};
	TRY(want(node, "name", field, &item->shown.name, err));
	TRY(want(node, "pattern", field, &item->shown.pattern, err));
	item->shown.source = json_string_of(json_get(node, "source"));
	item->shown.presets = is_checkpoint ? json_get(node, "presets") : NULL;
	if (!is_checkpoint)
		TRY(read_signature(&item->shown, node, field, err));
	struct error cause;
	char why[sizeof cause.text + FIELD_BYTES];
	if (regex_new(&item->regex, item->shown.pattern, 0, &cause) != OK) {
		snprintf(why, sizeof why, "is no regular expression: %s", cause.text);
		return refuse(err, field, "pattern", why);
	}
	item->host_group = regex_group(item->regex, "host");
	set->count++;
	return OK;
}

static enum status read_lists(struct signature_set *set, struct error *err)
{
	const struct json *signatures = json_get(set->json, "signatures");
	const struct json *checkpoints = json_get(set->json, "checkpoints");
	size_t count = json_count(signatures) + json_count(checkpoints), at = 0;

	if (!count || count > SIGNATURES_MAX)
		return error_set_field(
			err, ERR_SEMANTIC, "signatures", "%zu patterns, not 1 to %d", count, SIGNATURES_MAX);
	if (!(set->items = arena_alloc(set->arena, count * sizeof *set->items)))
		return error_no_memory(err);
	for (const struct json *node = json_first(signatures); node; node = json_next(node))
		TRY(add(set, node, "signatures", at++, false, err));
	at = 0;
	for (const struct json *node = json_first(checkpoints); node; node = json_next(node))
		TRY(add(set, node, "checkpoints", at++, true, err));
	return OK;
}

static enum status build_sieve(struct signature_set *set, struct error *err)
{
	struct span patterns[2][SIGNATURES_MAX + 1];

	_Static_assert((int)SIGNATURES_MAX < (int)SIEVE_MAX, "each has a bit, and so has what may be a kernel's line");
	for (size_t i = 0; i < set->count; i++) {
		bool is_kernel = set->items[i].shown.is_kernel;
		patterns[is_kernel][i] = set->items[i].shown.pattern;
		patterns[!is_kernel][i] = SPAN("");
	}
	/* as long as the others' texts: a shorter one would make the sieve slower */
	patterns[0][set->count] = SPAN(
		"\":\"kernel\",|\":\"kernel\"}|: \"kernel\",|: \"kernel\"}|\":\\\\\"kernel\\\\\"|: \\\\\"kernel\\\\\"");
	TRY(sieve_new(&set->sieve, patterns[0], set->count + 1, err));
	return sieve_new(&set->kernel_sieve, patterns[1], set->count, err);
}

enum status signature_set_new(struct signature_set **out, struct span json, struct error *err)
{
	AUTO(signature_set) set = mem_zeroed(sizeof *set);

	if (!set || !(set->arena = arena_new()))
		return error_no_memory(err);
	TRY(json_parse(&set->json, json, err));
	TRY(read_lists(set, err));
	TRY(build_sieve(set, err));
	*out = TAKE(set);
	return OK;
}

size_t signature_count(const struct signature_set *set)
{
	return set->count;
}

const struct signature *signature_at(const struct signature_set *set, size_t index)
{
	return &set->items[index].shown;
}

size_t signature_index(const struct signature_set *set, struct span name)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].shown.about != SIGNATURE_CHECKPOINT && span_equal(set->items[i].shown.name, name))
			return i;
	return SIZE_MAX;
}

bool signature_reads_saves(const struct signature_set *set, struct span preset)
{
	for (size_t i = 0; i < set->count; i++)
		for (const struct json *at = json_first(set->items[i].shown.presets); at; at = json_next(at))
			if (span_equal(json_string_of(at), preset))
				return true;
	return false;
}

void signature_append_summary(struct buf *out, const struct signature *signature, struct span host, struct span stream)
{
	bool is_symptom = signature->about == SIGNATURE_SYMPTOM;

	buf_append_span(out, signature->title);
	if (host.len)
		buf_append_text(out, is_symptom ? ", first reported by " : " on ");
	else
		buf_append_text(out, is_symptom ? ", first reported in stream " : " in stream ");
	buf_append_span(out, host.len ? host : stream);
}

enum severity signature_severity(const struct signature *signature, struct span instance_type)
{
	struct span type = span_starts_with(instance_type, SPAN("ml.")) ? span_skip(instance_type, 3) : instance_type;

	for (const struct json *at = json_first(signature->warning_on); at; at = json_next(at))
		if (span_equal(json_string_of(at), type) && signature->severity < SEVERITY_WARNING)
			return SEVERITY_WARNING;
	return signature->severity;
}

static int64_t step_of(const struct compiled *item, const struct span *groups)
{
	int64_t step;

	for (unsigned i = 1; i <= regex_group_count(item->regex); i++)
		if (groups[i].ptr && span_parse_i64(groups[i], &step) && step >= 0)
			return step;
	return -1;
}

/* From that byte on. */
static bool try_one(const struct compiled *item, struct regex_scratch *scratch, struct span text, size_t from,
	struct signature_found *out)
{
	struct span groups[REGEX_MAX_GROUPS];

	if (regex_search(item->regex, scratch, text, from, groups) != REGEX_MATCH)
		return false;
	out->signature = &item->shown;
	out->said = groups[0];
	out->host = item->host_group > 0 && groups[item->host_group].ptr ? groups[item->host_group] : SPAN("");
	out->step = item->shown.about == SIGNATURE_CHECKPOINT ? step_of(item, groups) : -1;
	return true;
}

/* A fault by its words: a kernel's in whatever signature they stand. */
static enum voice voice_of_one(const struct compiled *item, struct span text, struct span said)
{
	const struct signature *signature = &item->shown;

	if (signature->is_kernel)
		return voice_of(SPEAKER_KERNEL, text, said);
	if (signature->is_check)
		return voice_of(SPEAKER_CHECK, text, said);
	if (signature->about == SIGNATURE_CHECKPOINT)
		return voice_of(SPEAKER_TRAINER, text, said);
	if (voice_is_drivers(said))
		return voice_of(SPEAKER_DRIVER, text, said);
	if (signature->about == SIGNATURE_NODE)
		return voice_of(SPEAKER_WITNESS, text, said);
	return signature->about == SIGNATURE_RUN ? voice_of(SPEAKER_PROGRAM, text, said) : VOICE_OWN;
}

/* What is said twice in a text counts where it is said as a message: a quotation may stand in front of it. */
static bool find_one(const struct compiled *item, struct regex_scratch *scratch, struct span text, bool is_system,
	struct signature_found *out)
{
	enum { TRIES_MAX = 4 };
	size_t from = 0;
	bool is_found = false;
	struct signature_found one = *out;

	for (int i = 0; i < TRIES_MAX && try_one(item, scratch, text, from, &one); i++) {
		one.voice = is_system ? VOICE_OWN : voice_of_one(item, text, one.said);
		if (one.voice != VOICE_QUOTE && (!is_found || one.voice > out->voice))
			*out = one;
		is_found |= one.voice != VOICE_QUOTE;
		from = (size_t)(one.said.ptr - text.ptr) + one.said.len;
		if (one.voice == VOICE_OWN || !one.said.len)
			break;
	}
	return is_found;
}

bool signature_find(const struct signature_set *set, struct regex_scratch *scratch, struct span text, bool is_system,
	struct signature_found *out)
{
	uint64_t words[SIEVE_WORDS], kernel[SIEVE_WORDS] = {0};
	size_t last = set->count / 64;
	uint64_t kernel_bit = UINT64_C(1) << set->count % 64;

	if (text.len > TESTED_BYTES)
		text.len = TESTED_BYTES; /* such messages are short; what is longer is a dump */
	sieve_find(set->sieve, text, words);
	bool may_be = (words[last] & kernel_bit) || kernel_line_may_have_header(text);
	if (is_system || may_be)
		sieve_find(set->kernel_sieve, text, kernel);
	words[last] &= ~kernel_bit;
	for (size_t base = 0; base < SIEVE_MAX; base += 64)
		for (uint64_t bits = words[base / 64] | kernel[base / 64]; bits; bits &= bits - 1) {
			out->index = base + (size_t)__builtin_ctzll(bits);
			if (find_one(&set->items[out->index], scratch, text, is_system, out))
				return true;
		}
	return false;
}
