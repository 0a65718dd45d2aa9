/* Settings that trainers say in a sentence of their own, outside of any dump. */
#include "extract/settings/settings_forms.h"

#include <ctype.h>
#include <string.h>

static const struct {
	struct span words; /* the number stands right behind */
	struct span key;
} sentences[] = {
	{SPAN("umber of parameters: "), SPAN("num_parameters")}, /* nanoGPT, OLMo (Total number …), GNMT */
	{SPAN("umber of trainable parameters = "), SPAN("num_trainable_parameters")}, /* Hugging Face Trainer */
	{SPAN("Total train batch size (w. parallel, distributed & accumulation) = "), SPAN("total_train_batch_size")},
	{SPAN("Total optimization steps = "), SPAN("total_optimization_steps")},
	{SPAN("tokens per iteration will be: "), SPAN("tokens_per_iteration")}, /* nanoGPT */
};

/* Digits, commas between them, a fraction, K M B; without the commas. */
static struct span number_at(struct span text, char out[32])
{
	size_t len = 0;

	for (size_t i = 0; i < text.len && len < 32; i++) {
		char c = text.ptr[i];
		bool is_digit = c >= '0' && c <= '9';
		if (!is_digit && !((c == ',' || c == '.') && len && i + 1 < text.len && text.ptr[i + 1] >= '0' &&
					 text.ptr[i + 1] <= '9')) {
			if (len && (c == 'K' || c == 'M' || c == 'B'))
				out[len++] = c;
			break;
		}
		if (c != ',')
			out[len++] = c;
	}
	return span_of(out, len);
}

/* What a launch script exports, and `set -x` shows: the host of rank 0. A variable is no host. */
static enum status take_master(struct settings *settings, struct span text, struct error *err)
{
	static const struct span name = SPAN("MASTER_ADDR");
	ptrdiff_t at = span_find(text, SPAN("MASTER_ADDR="));
	size_t len = 0;

	if (at < 0)
		return OK;
	struct span rest = span_skip(text, (size_t)at + name.len + 1);
	if (rest.len && (*rest.ptr == '"' || *rest.ptr == '\''))
		rest = span_skip(rest, 1);
	while (len < rest.len && (isalnum((unsigned char)rest.ptr[len]) || strchr(".-_:", rest.ptr[len])))
		len++;
	return settings_put(settings, SPAN(""), name, span_of(rest.ptr, len), err);
}

/* "Connect to algo-4": SageMaker's workers name whom they wait for. The first host's own ssh says "connect to host algo-2". */
static enum status take_connect(struct settings *settings, struct span text, struct error *err)
{
	static const struct span words = SPAN("Connect to algo-");
	ptrdiff_t at = span_find(text, words);
	size_t len = 0;

	if (at < 0)
		return OK;
	struct span rest = span_skip(text, (size_t)at + words.len);
	while (len < rest.len && isdigit((unsigned char)rest.ptr[len]))
		len++;
	struct span host = span_of(rest.ptr - (sizeof "algo-" - 1), len + sizeof "algo-" - 1);
	return len ? settings_put(settings, SPAN(""), SPAN("connect_to"), host, err) : OK;
}

/* Megatron-LM says the folder that it goes on from, and the one that it saves to, as its arguments of these names do. */
static const struct {
	struct span words, behind;
	struct span key;
} folders[] = {
	{SPAN("loading checkpoint from "), SPAN(" at iteration "), SPAN("load")},
	{SPAN("loading distributed checkpoint from "), SPAN(" at iteration "), SPAN("load")},
	{SPAN("successfully loaded checkpoint from "), SPAN(" at iteration "), SPAN("load")},
	{SPAN("successfully saved checkpoint from iteration "), SPAN(" to "), SPAN("save")},
	{SPAN("successfully saved checkpoint at iteration "), SPAN(" to "), SPAN("save")},
};

/* "from /fsx/a [ t 1/8, p 1/4 ] at iteration 100", "from iteration 100 to /fsx/a [ t …": the one word that is a path. */
static enum status take_folder(struct settings *settings, struct span text, struct error *err)
{
	ptrdiff_t at = -1, behind;
	size_t i = 0, len = 0;

	if (span_find(text, SPAN(" checkpoint ")) < 0)
		return OK;
	while (i < sizeof folders / sizeof *folders && (at = span_find(text, folders[i].words)) < 0)
		i++;
	struct span rest = at < 0 ? SPAN("") : span_skip(text, (size_t)at + folders[i].words.len);
	if (at < 0 || (behind = span_find(rest, folders[i].behind)) < 0)
		return OK;
	if (span_equal(folders[i].behind, SPAN(" to ")))
		rest = span_skip(rest, (size_t)behind + folders[i].behind.len);
	while (len < rest.len && rest.ptr[len] != ' ')
		len++;
	struct span folder = span_of(rest.ptr, len);
	return span_find_char(folder, '/') < 0 ? OK : settings_put(settings, SPAN(""), folders[i].key, folder, err);
}

/* `Config param learning_rate: 3e-05`: MaxText prints each setting on a line of its own. */
static enum status take_param(struct settings *settings, struct span text, struct error *err)
{
	static const struct span words = SPAN("Config param ");
	struct span rest = span_starts_with(text, words) ? span_skip(text, words.len) : SPAN("");
	ptrdiff_t colon = span_find(rest, SPAN(": "));

	if (colon <= 0 || !isalpha((unsigned char)rest.ptr[0]))
		return OK;
	struct span key = span_of(rest.ptr, (size_t)colon), value = span_trim(span_skip(rest, (size_t)colon + 2));
	bool is_said = span_find_char(key, ' ') < 0 && !span_equal(value, SPAN("None"));
	return is_said ? settings_put(settings, SPAN(""), key, settings_typed(value), err) : OK;
}

/* All of them end in ": 12" or " = 12" behind one of a few words: most lines are known by that not to be one. */
static bool may_be_said(struct span text)
{
	static const struct span words[] = {SPAN("rs"), SPAN("n)"), SPAN("ps"), SPAN("be")};
	size_t end = text.len;

	while (end && text.len - end < 32 && text.ptr[end - 1] != ' ')
		end--;
	if (end < 5 || text.ptr[end - 1] != ' ' || (text.ptr[end - 2] != ':' && text.ptr[end - 2] != '='))
		return false;
	struct span before = span_of(text.ptr, end - 2 - (text.ptr[end - 2] == '='));
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_ends_with(before, words[i]))
			return true;
	return false;
}

enum status settings_take_said(struct settings *settings, struct span text, struct error *err)
{
	char digits[32];

	TRY(take_master(settings, text, err));
	TRY(take_connect(settings, text, err));
	TRY(take_folder(settings, text, err));
	text = span_trim(text);
	TRY(take_param(settings, text, err));
	if (!may_be_said(text))
		return OK;
	for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
		ptrdiff_t at = span_find(text, sentences[i].words);
		if (at < 0)
			continue;
		struct span number = number_at(span_skip(text, (size_t)at + sentences[i].words.len), digits);
		return settings_put(settings, SPAN(""), sentences[i].key, number, err);
	}
	return OK;
}
