/* Settings that trainers say in a sentence of their own, outside of any dump. */
#include "extract/settings_forms.h"

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

enum status settings_take_said(struct settings *settings, struct span text, struct error *err)
{
	char digits[32];

	TRY(take_master(settings, text, err));
	/* a few short words find all of them: most lines end here */
	if (span_find(text, SPAN("umber of ")) < 0 && span_find(text, SPAN("Total ")) < 0 &&
		span_find(text, SPAN("tokens per ")) < 0)
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
