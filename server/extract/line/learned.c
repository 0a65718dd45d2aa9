/*
 * A prefix of no known form, as one of the stream's own: its words may change, what stands between them does not. In a form
 * 'w' is a word, ' ' one space or more, all else is itself.
 */
#include "extract/line/part.h"
#include "extract/line/prefix.h"

static bool is_word_char(char c)
{
	return is_letter(c) || is_digit(c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t count_word(struct span text)
{
	size_t len = 0;

	while (len < text.len && is_word_char(text.ptr[len]))
		len++;
	return len;
}

/* "epoch 3", "step: 5": the trainer's, not to be lost. */
static bool is_counter(struct span text, size_t word)
{
	struct span behind = span_skip(text, word);

	for (int i = 0; i < 3 && behind.len && !is_word_char(behind.ptr[0]); i++)
		behind = span_skip(behind, 1);
	return logger_is_trainer_word(span_of(text.ptr, word)) && is_digit(char_at(behind, 0));
}

/* 0: too long, or a counter of the trainer's. */
static size_t form_of(struct span before, char form[FORM_BYTES])
{
	size_t len = 0;

	while (before.len) {
		size_t word = count_word(before), spaces = count_char(before, ' ');
		if (len == FORM_BYTES || (word && is_counter(before, word)))
			return 0;
		form[len++] = word ? 'w' : before.ptr[0];
		before = span_skip(before, word ? word : spaces ? spaces : 1);
	}
	return len;
}

size_t learned_length(const struct prefix_memory *memory, struct span text)
{
	struct span rest = text;

	for (size_t i = 0; i < memory->form_len; i++) {
		bool is_last = i + 1 == memory->form_len; /* what is behind it may be the line's own indentation */
		size_t taken = memory->form[i] == 'w'   ? count_word(rest)
			       : memory->form[i] == ' ' ? count_char(rest, ' ')
							: char_at(rest, 0) == memory->form[i];
		taken = is_last && taken && memory->form[i] == ' ' ? 1 : taken;
		if (!taken || !rest.len)
			return 0;
		rest = span_skip(rest, taken);
	}
	return text.len - rest.len;
}

size_t prefix_next_cut(struct span text, size_t from)
{
	for (size_t i = from; i < text.len && i < 2 * NAME_MAX_BYTES; i++)
		if (!is_word_char(text.ptr[i]))
			return i + 1;
	return 0;
}

bool prefix_learn(struct prefix_memory *memory, struct span before, bool is_sure)
{
	char form[FORM_BYTES];
	size_t len = form_of(before, form);

	if (!len)
		return false;
	bool is_same = memory->candidate_len == len && memcmp(memory->candidate, form, len) == 0;
	memcpy(memory->candidate, form, len);
	memory->candidate_len = (uint8_t)len;
	memory->candidate_seen = is_same ? (uint8_t)(memory->candidate_seen + 1) : 1;
	if (!is_sure && memory->candidate_seen < FORM_LINES)
		return false;
	memcpy(memory->form, form, len);
	memory->form_len = (uint8_t)len;
	memory->candidate_len = memory->candidate_seen = 0;
	return true;
}
