#include "pipeline/alert/silence.h"

#include "base/bytes16.h"
#include "model/incident.h"
#include "pipeline/alert/incidents.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "state/watchers/step_trail.h"

enum {
	HEAD_BYTES = 32,
	HEAD_LETTERS = 3,
	VALUES_LEAST = 5,
	LINES_LEAST = 20,
	TIMES_USUAL = 4,
	OTHERS = 250, /* so many other lines weigh as much as one that begins like those with a value */
	NAMED = 5, /* so many of them weigh as much as one that says the metric's name and a number */
	NAMED_FROM_LINES = 16, /* behind the last value; the first that is looked at stands for those before it */
	LOOK_BYTES = 200,
	GAPS = 20, /* so much longer than usual, where the steps go on in lines of another form */
	GAPS_LINES_LEAST = 100,
	TEXT_BYTES = 200
};

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool begins_with_fold(struct span text, size_t at, struct span word)
{
	return text.len - at >= word.len && (text.ptr[at] | 0x20) == (word.ptr[0] | 0x20) &&
	       span_equal_fold(span_of(text.ptr + at, word.len), word);
}

/* "loss: 2.4", "loss'] = -2" */
static bool is_word_with_number(struct span text, size_t at, struct span word)
{
	size_t i = at + word.len;

	if (!begins_with_fold(text, at, word) || i == text.len || is_letter(text.ptr[i]))
		return false;
	while (i < text.len && strchr(" \t:='\"])(|,+-.", text.ptr[i]))
		i++;
	return i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9';
}

/* "step 12/500 loss: 2.1" -> "step ", "12/500 loss: 2.1" -> "# loss: ", "INFO:root:08:24:12 [Epoch 1 …" -> "INFO:root:# [Epoch " */
static uint32_t head_of(struct span text)
{
	enum { DIGIT = 2 };
	static const unsigned char weights[256] = {['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['0' ... '9'] = DIGIT};
	size_t end = text.len < HEAD_BYTES ? text.len : HEAD_BYTES;
	uint32_t hash = 2166136261u;
	unsigned letters = 0;
	bool is_time = false;

	for (size_t i = 0; i < end; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (__builtin_expect(weights[c] == DIGIT, 0)) {
			i += number_bytes(text, i, &is_time) - 1;
			if (letters >= HEAD_LETTERS && !is_time)
				break;
			c = '#';
		}
		letters += weights[c];
		hash = (hash ^ c) * 16777619u;
	}
	return hash;
}

static uint32_t find_head(const struct silences *silences, uint32_t hash)
{
	uint32_t at = 0;

	while (at < silences->head_count && silences->heads[at].hash != hash)
		at++;
	return at < silences->head_count ? at : SILENCE_NO_HEAD;
}

static uint32_t keep_head(struct silences *silences, uint32_t hash)
{
	uint32_t at = find_head(silences, hash);

	if (at != SILENCE_NO_HEAD || silences->head_count == SILENCE_HEADS)
		return at;
	silences->heads[silences->head_count] = (struct head){hash, 1};
	return (uint32_t)silences->head_count++;
}

static uint64_t weight_of(const struct silences *silences, const struct silence *silence)
{
	uint64_t lines = silences->lines - silence->at_line;
	uint64_t alike =
		silence->head < silences->head_count ? silences->heads[silence->head].lines - silence->at_head : 0;

	return alike * OTHERS + (lines - alike) + silence->named * (NAMED - 1);
}

static uint64_t limit_of(const struct silence *silence)
{
	uint64_t usual = silence->longest * TIMES_USUAL, least = (uint64_t)LINES_LEAST * OTHERS;

	return usual > least ? usual : least;
}

/* ---- what it says ---- */

static struct series_state *series_of(const struct stream_state *stream, uint32_t series_id)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i]->series_id == series_id)
			return stream->series[i];
	return NULL;
}

static enum status say(struct pipeline *pipeline, struct stream_state *stream, const struct silence *silence,
	const struct silence_line *line, struct error *err)
{
	struct series_state *series = series_of(stream, silence->series_id);
	struct incident incident = silence->incident;
	AUTO_DONE(buf) facts = BUF_INIT(TEXT_BYTES * 8);
	struct json_writer w = json_writer_on(&facts);

	if (!series)
		return OK;
	incident.is_historic = stream->said || incident.opened_ms < line->arrival_ms - HISTORIC_MS;
	if (stream->said)
		return said_list_put(stream->said, series->series_id, &incident, err);
	json_object(&w);
	json_put_span(&w, "text", span_cut(line->text, TEXT_BYTES));
	json_object_end(&w);
	TRY(buf_status(&facts, err));
	struct span members = incident.state == INCIDENT_OPEN ? span_of(facts.ptr + 1, facts.len - 2) : SPAN("");
	return incidents_hand_over_facts(pipeline, stream, series, &incident, members, err);
}

static enum status open_one(struct pipeline *pipeline, struct stream_state *stream, struct silence *silence,
	const struct silence_line *line, struct error *err)
{
	const struct series_state *series = series_of(stream, silence->series_id);
	uint64_t lines = stream->silences->lines - silence->at_line;

	if (!series || !(series->sealed_points + series->tail_count))
		return OK;
	int64_t step = series->summary.last_step;
	silence->is_open = true;
	silence->incident = (struct incident){.kind = INCIDENT_DEFINITION_SILENT,
		.severity = series->role == ROLE_LOSS ? SEVERITY_WARNING : SEVERITY_INFO,
		.state = INCIDENT_OPEN,
		.opened_ordinal = series->sealed_points + series->tail_count - 1,
		.first_step = step,
		.last_step = step,
		.opened_step = step,
		.opened_ms = line->ts_ms,
		.line = line->number,
		.value = (double)lines,
		.expected = (double)silence->longest_lines,
		.worst = (double)lines,
		.worst_step = step};
	return say(pipeline, stream, silence, line, err);
}

static enum status close_one(struct pipeline *pipeline, struct stream_state *stream, struct silence *silence,
	const struct silence_line *line, struct error *err)
{
	silence->is_open = false;
	silence->incident.state = INCIDENT_RECOVERED;
	silence->incident.closed_ms =
		line->ts_ms > silence->incident.opened_ms ? line->ts_ms : silence->incident.opened_ms;
	silence->incident.worst = (double)(stream->silences->lines - silence->at_line);
	return say(pipeline, stream, silence, line, err);
}

/* ---- lines ---- */

/* Which are, and when the next one can be. */
static enum status look(
	struct pipeline *pipeline, struct stream_state *stream, const struct silence_line *line, struct error *err)
{
	struct silences *silences = stream->silences;

	silences->due = UINT64_MAX;
	for (size_t i = 0; i < silences->count; i++) {
		struct silence *silence = &silences->items[i];
		if (silence->values < VALUES_LEAST || silence->is_open)
			continue;
		uint64_t weight = weight_of(silences, silence), limit = limit_of(silence);
		if (weight > limit) {
			TRY(open_one(pipeline, stream, silence, line, err));
			continue;
		}
		uint64_t due =
			silences->lines + (limit - weight) / OTHERS + 1; /* were all lines from now on like its */
		silences->due = due < silences->due ? due : silences->due;
	}
	return OK;
}

static enum status take_value(struct pipeline *pipeline, struct stream_state *stream, const struct extracted *value,
	uint32_t series_id, uint32_t head, const struct silence_line *line, struct error *err)
{
	uint32_t definition = value->definition;
	struct silences *silences = stream->silences;

	for (; silences->count <= definition; silences->items[silences->count++] = (struct silence){0})
		if (!mem_grow((void **)&silences->items, silences->count, &silences->cap, sizeof *silences->items))
			return error_no_memory(err);
	struct silence *silence = &silences->items[definition];
	if (silence->values && silence->at_line == silences->lines)
		return OK; /* another one of this line */
	if (silence->values) {
		uint64_t weight = weight_of(silences, silence), lines = silences->lines - silence->at_line;
		silence->longest = weight > silence->longest ? weight : silence->longest;
		silence->longest_lines = lines > silence->longest_lines ? lines : silence->longest_lines;
	}
	if (silence->is_open)
		TRY(close_one(pipeline, stream, silence, line, err));
	step_trails_value(&silence->trails, value->point.step);
	silence->series_id = series_id;
	silence->head = head;
	silence->at_head = head != SILENCE_NO_HEAD ? silences->heads[head].lines : 0;
	silence->at_line = silences->lines;
	silence->named = 0;
	uint64_t awaited_from = silences->lines + NAMED_FROM_LINES;
	silences->awaited_from = awaited_from < silences->awaited_from ? awaited_from : silences->awaited_from;
	uint64_t due = silences->lines + limit_of(silence) / OTHERS + 1;
	if (++silence->values >= VALUES_LEAST && due < silences->due)
		silences->due = due;
	return OK;
}

/* "train/grad_norm{rank=0}" -> "norm" */
static void keep_word(const struct series_state *series, char *word)
{
	size_t end = 0, from;

	while (series->metric[end] && series->metric[end] != '{')
		end++;
	while (end && !is_letter(series->metric[end - 1]))
		end--;
	for (from = end; from && is_letter(series->metric[from - 1]);)
		from--;
	if (end - from < SILENCE_WORD_BYTES)
		memcpy(word, series->metric + from, end - from);
}

static bool is_awaited(const struct silences *silences, const struct silence *silence, uint32_t head)
{
	return silence->values >= VALUES_LEAST && !silence->is_open &&
	       silences->lines - silence->at_line >= NAMED_FROM_LINES &&
	       (head == SILENCE_NO_HEAD || head != silence->head);
}

/* Of most lines nothing is: whose value may be awaited next is looked for once that may be so. */
static bool may_await(struct silences *silences)
{
	uint64_t from = UINT64_MAX;

	if (silences->lines < silences->awaited_from)
		return false;
	for (size_t i = 0; i < silences->count; i++) {
		const struct silence *silence = &silences->items[i];
		if (silence->values >= VALUES_LEAST && !silence->is_open && silence->at_line + NAMED_FROM_LINES < from)
			from = silence->at_line + NAMED_FROM_LINES;
	}
	silences->awaited_from = from;
	return silences->lines >= from;
}

/*
 * Every line of every stream comes through here, so nearly all must be turned away at once: 16 bytes at a time are looked at
 * for two letters that begin a word and an awaited metric's.
 */
enum { AWAITED_MAX = 16 }; /* of more, each line is looked at in full */

struct awaited {
	size_t count; /* of words, however many there is room for */
	bytes16 first[AWAITED_MAX], second[AWAITED_MAX]; /* the letter 16 times */
};

static void await_word(struct awaited *awaited, const char *word)
{
	unsigned char first = (unsigned char)(word[0] | 0x20), second = (unsigned char)(word[1] | 0x20);

	if (awaited->count >= AWAITED_MAX || !word[1]) {
		awaited->count = AWAITED_MAX + 1;
		return;
	}
	for (size_t i = 0; i < awaited->count; i++)
		if (awaited->first[i][0] == first && awaited->second[i][0] == second)
			return;
	awaited->first[awaited->count] = (bytes16){0} + first;
	awaited->second[awaited->count++] = (bytes16){0} + second;
}

static bool may_name(const struct awaited *awaited, struct span text)
{
	unsigned char padded[1 + LOOK_BYTES + 2 * sizeof(bytes16)];
	bytes16 hits = {0};

	if (awaited->count > AWAITED_MAX)
		return true;
	padded[0] = 0;
	memcpy(padded + 1, text.ptr, text.len);
	memset(padded + 1 + text.len, 0, 2 * sizeof hits);
	for (size_t at = 0; at < text.len; at += sizeof hits) {
		bytes16 before = bytes16_folded_at(padded + at), first = bytes16_folded_at(padded + at + 1),
			second = bytes16_folded_at(padded + at + 2);
		bytes16 begins = (bytes16)((before < 'a') | (before > 'z'));
		for (size_t i = 0; i < awaited->count; i++)
			hits |= begins & (bytes16)((first == awaited->first[i]) & (second == awaited->second[i]));
	}
	return bytes16_has_any(hits);
}

enum letter_kind { LETTER = 1, FIRST_LETTER = 2 }; /* of a word that is looked for: it is a LETTER too */

struct letters {
	unsigned char kinds[256]; /* enum letter_kind, by character */
};

static const struct letters ALPHABET = {{['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER}};

static void letters_begin_word(struct letters *letters, char letter)
{
	letters->kinds[(unsigned char)letter & ~0x20] = letters->kinds[(unsigned char)letter | 0x20] =
		LETTER | FIRST_LETTER;
}

/* The words of the metrics that are. */
static void find_awaited(struct stream_state *stream, uint32_t head, struct awaited *out)
{
	struct silences *silences = stream->silences;

	out->count = 0;
	for (size_t i = 0; i < silences->count; i++) {
		struct silence *silence = &silences->items[i];
		if (!is_awaited(silences, silence, head))
			continue;
		const struct series_state *series = silence->word[0] ? NULL : series_of(stream, silence->series_id);
		if (series)
			keep_word(series, silence->word);
		if (silence->word[0])
			await_word(out, silence->word);
	}
}

/* Where a word begins that may be one of those. A table and no branch. */
static size_t find_words(struct span text, const struct letters *letters, unsigned char starts[LOOK_BYTES])
{
	size_t count = 0;
	unsigned last = 0;

	for (size_t i = 0; i < text.len; i++) {
		unsigned kind = letters->kinds[(unsigned char)text.ptr[i]];
		starts[count] = (unsigned char)i;
		count += (kind & ~(last * FIRST_LETTER)) / FIRST_LETTER;
		last = kind & LETTER;
	}
	return count;
}

/* "loss" in "{'train_loss': 2.4}" */
static bool says_name(struct span text, const unsigned char *starts, size_t count, struct span word)
{
	bool is_said = false;

	for (size_t i = 0; i < count && !is_said; i++)
		is_said = is_word_with_number(text, starts[i], word);
	return is_said;
}

/* What is said of a validation is of another count and another curve. */
static bool says_validation(struct span text, const unsigned char *starts, size_t count)
{
	bool is_said = false;

	for (size_t i = 0; i < count && !is_said; i++)
		is_said = begins_with_fold(text, starts[i], SPAN("eval")) ||
			  begins_with_fold(text, starts[i], SPAN("val")) ||
			  begins_with_fold(text, starts[i], SPAN("test"));
	return is_said;
}

/* Lines of another form may be what the training prints now, though no step of theirs says so: a count that began anew, or none. */
static void count_named(struct stream_state *stream, uint32_t head, struct span text)
{
	struct silences *silences = stream->silences;
	unsigned char starts[LOOK_BYTES];
	struct awaited awaited;
	struct letters letters;

	if (!may_await(silences))
		return;
	find_awaited(stream, head, &awaited);
	text.len = text.len < LOOK_BYTES ? text.len : LOOK_BYTES;
	if (!awaited.count || !text.len || !may_name(&awaited, text))
		return;
	letters = ALPHABET;
	for (size_t i = 0; i < silences->count; i++)
		if (is_awaited(silences, &silences->items[i], head) && silences->items[i].word[0])
			letters_begin_word(&letters, silences->items[i].word[0]);
	letters_begin_word(&letters, 'e');
	letters_begin_word(&letters, 'v');
	letters_begin_word(&letters, 't');
	size_t count = find_words(text, &letters, starts);
	if (says_validation(text, starts, count))
		return;
	for (size_t i = 0; i < silences->count; i++) {
		struct silence *silence = &silences->items[i];
		uint64_t lines = silences->lines - silence->at_line;
		if (is_awaited(silences, silence, head) && silence->word[0] &&
			says_name(text, starts, count, span_from(silence->word)))
			silence->named += lines == NAMED_FROM_LINES ? lines : 1;
	}
}

/* A whole new form of all lines: none begins like those with a value, but a number in them goes on where the steps stopped. */
static enum status follow_trails(struct pipeline *pipeline, struct stream_state *stream, uint32_t form,
	struct span text, const struct silence_line *line, struct error *err)
{
	struct silences *silences = stream->silences;
	bool is_new = known_forms_add(&silences->known, form);

	if (!is_new && silences->has_no_trails)
		return OK;
	bool is_any = false;
	silences->has_no_trails = false; /* whatever fails */
	for (size_t i = 0; i < silences->count; i++) {
		struct silence *silence = &silences->items[i];
		uint64_t lines = silences->lines - silence->at_line, limit = silence->longest_lines * GAPS;
		bool is_watched = silence->values >= VALUES_LEAST && !silence->is_open && lines;
		uint64_t rises = is_watched ? step_trails_line(&silence->trails, form, is_new, text) : 0;
		is_any |= step_trails_are_any(&silence->trails);
		if (rises > GAPS && lines > (limit > GAPS_LINES_LEAST ? limit : GAPS_LINES_LEAST))
			TRY(open_one(pipeline, stream, silence, line, err));
	}
	silences->has_no_trails = !is_any;
	return OK;
}

/* The job has gone on after an end: what stands open is so still. */
static enum status say_again(
	struct pipeline *pipeline, struct stream_state *stream, const struct silence_line *line, struct error *err)
{
	struct silences *silences = stream->silences;
	unsigned life = atomic_load(&stream->job->life);

	if (silences->life == life)
		return OK;
	for (size_t i = 0; i < silences->count && silences->life != life && !stream->said; i++) {
		struct silence again = silences->items[i];
		if (!again.is_open || again.incident.line == line->number)
			continue;
		again.incident.is_again = true;
		again.incident.opened_ms = line->ts_ms;
		again.incident.line = line->number;
		again.incident.value = again.incident.worst = (double)(silences->lines - again.at_line);
		TRY(say(pipeline, stream, &again, line, err));
	}
	silences->life = life;
	return OK;
}

/* Other definitions: what was open is over. */
static enum status begin(struct pipeline *pipeline, struct stream_state *stream, uint32_t generation,
	const struct silence_line *line, struct error *err)
{
	struct silences *silences = stream->silences;

	for (size_t i = 0; i < silences->count; i++)
		if (silences->items[i].is_open)
			TRY(close_one(pipeline, stream, &silences->items[i], line, err));
	silences->count = silences->head_count = 0;
	silences->known = (struct known_forms){0};
	silences->due = UINT64_MAX;
	silences->awaited_from = 0;
	silences->generation = generation;
	return OK;
}

enum status silences_feed(struct pipeline *pipeline, struct stream_state *stream, const struct definitions *definitions,
	const struct silence_line *line, const struct extracted_list *found, struct error *err)
{
	if (!stream->silences && (!found->count || definition_set_is_preset_form(definitions->set)))
		return OK;
	if (!stream->silences && !(stream->silences = mem_zeroed(sizeof *stream->silences)))
		return error_no_memory(err);
	struct silences *silences = stream->silences;
	if (silences->generation != definitions->generation)
		TRY(begin(pipeline, stream, definitions->generation, line, err));
	if (definition_set_is_preset_form(definitions->set))
		return OK;
	struct span text = extractor_untagged(stream->extractor);
	uint32_t hash = head_of(text), head = find_head(silences, hash);
	silences->lines++;
	if (head != SILENCE_NO_HEAD)
		silences->heads[head].lines++;
	else if (found->count)
		head = keep_head(silences, hash);
	for (size_t i = 0; i < found->count; i++) {
		uint32_t number = found->items[i].series;
		const struct series_state *series =
			number < stream->number_count ? stream->by_number[number].series : NULL;
		if (series)
			TRY(take_value(pipeline, stream, &found->items[i], series->series_id, head, line, err));
	}
	count_named(stream, head, text);
	TRY(follow_trails(pipeline, stream, hash, text, line, err));
	TRY(say_again(pipeline, stream, line, err));
	return silences->lines >= silences->due ? look(pipeline, stream, line, err) : OK;
}
