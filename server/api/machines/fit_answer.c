#include "api/machines/fit_answer.h"

#include "api/core/money.h"
#include "fleet/fit_remedy.h"
#include "read/charts/derivation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Out of memory, though the formulas left room: what they leave out is not known, so that less is only trusted from here on. */
static const double trusted_share = 0.9;

static const char *const recompute_names[] = {"none", "selective", "full"};

/* ---- one place ---- */

void fit_place_find(const struct api *api, const struct json *document, struct fit_place *place)
{
	const struct pipeline *pipeline = api->options.pipeline;

	place->ranks_per_node = derivation_each_rank(pipeline, document);
	place->ranks = place->count * place->ranks_per_node;
	place->limit = derivation_rank_bytes(pipeline, document);
}

static void work_out(const struct fit_settings *settings, struct fit *out)
{
	fit_work_out(&settings->setup, out);
	if (settings->unread.hides_states)
		out->parameters = out->gradients = out->optimizer = out->total = NAN;
	if (settings->unread.hides_activations)
		out->activations = out->total = NAN;
}

/* What is known may be too much already. */
static double sum_known(const struct fit *fit)
{
	const double parts[] = {fit->parameters, fit->gradients, fit->optimizer, fit->activations};
	double sum = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		sum += isnan(parts[i]) ? 0 : parts[i];
	return sum;
}

static double factor_or_one(const struct fit_observed *observed)
{
	return isnan(observed->factor) ? 1 : observed->factor;
}

static void write_fits(struct json_writer *w, const struct fit_settings *settings, const struct fit *fit,
	const struct fit_place *place, const struct fit_observed *observed)
{
	double factor = factor_or_one(observed);

	json_key(w, "fits");
	if (isnan(place->limit) || settings->other || !settings->sharding.is_spread ||
		(isnan(fit->total) && sum_known(fit) <= place->limit))
		json_null(w);
	else
		json_bool(w, fit->total * factor <= place->limit);
	api_put_known(w, "limit_bytes", place->limit);
	api_put_known(w, "observed_factor", observed->factor);
	json_put_i64(w, "observed_jobs", (int64_t)observed->jobs);
	api_put_known(w, "corrected_bytes", fit->total * observed->factor);
}

void fit_write_place(struct json_writer *w, const struct fit_settings *settings, const struct fit_place *place,
	const struct fit_observed *observed)
{
	struct fit fit;

	work_out(settings, &fit);
	json_key(w, "per_device_bytes");
	json_object(w);
	api_put_known(w, "parameters", fit.parameters);
	api_put_known(w, "gradients", fit.gradients);
	api_put_known(w, "optimizer", fit.optimizer);
	api_put_known(w, "activations", fit.activations);
	api_put_known(w, "total", fit.total);
	json_object_end(w);
	write_fits(w, settings, &fit, place, observed);
	fit_write_remedies(w, settings, place, observed, false);
}

/* ---- what would fit ---- */

static void put_change(struct json_writer *w, struct buf *text, const char *key, double before, double after)
{
	buf_printf(text, "%s%s %g instead of %g", text->len ? ", " : "", key, after, before);
	json_put_double(w, key, after);
}

static void write_remedy(struct json_writer *w, const struct fit_setup *before, const struct fit_remedy *remedy)
{
	AUTO_DONE(buf) text = BUF_INIT(512);
	const struct fit_setup *after = &remedy->setup;

	json_object(w);
	json_key(w, "changes");
	json_object(w);
	if (after->micro_batch != before->micro_batch)
		put_change(w, &text, "micro_batch", before->micro_batch, after->micro_batch);
	if (after->recompute != before->recompute || after->recomputed_share != before->recomputed_share) {
		buf_printf(&text, "%s%s recomputation of activations", text.len ? ", " : "",
			recompute_names[after->recompute]);
		json_put_text(w, "recompute", recompute_names[after->recompute]);
	}
	if (after->is_sequence_parallel != before->is_sequence_parallel) {
		buf_printf(&text, "%ssequence parallelism", text.len ? ", " : "");
		json_put_bool(w, "sequence_parallel", true);
	}
	if (after->zero_stage != before->zero_stage)
		put_change(w, &text, "zero_stage", before->zero_stage, after->zero_stage);
	if (after->tensor != before->tensor)
		put_change(w, &text, "tensor_parallel", before->tensor, after->tensor);
	json_object_end(w);
	json_put_span(w, "text", buf_span(&text));
	json_put_double(w, "total_bytes", remedy->total);
	json_object_end(w);
}

void fit_write_remedies(struct json_writer *w, const struct fit_settings *settings, const struct fit_place *place,
	const struct fit_observed *observed, bool ran_out)
{
	struct fit_remedy remedies[FIT_CHANGES];
	struct fit fit;
	double factor = factor_or_one(observed), limit = place->limit;
	size_t count = 0;

	work_out(settings, &fit);
	if (ran_out && fit.total * factor <= limit)
		factor = place->limit / fit.total, limit *= trusted_share;
	if (!settings->other && settings->sharding.is_spread && fit.total * factor > limit)
		count = fit_remedies(&settings->setup, limit, factor, place->ranks_per_node, remedies);
	json_key(w, "would_fit");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		write_remedy(w, &settings->setup, &remedies[i]);
	json_array_end(w);
}

/* ---- inputs and formulas ---- */

static void write_state_formulas(struct json_writer *w, const struct fit_setup *f)
{
	static const char each[] = "parameters / (tensor_parallel * pipeline_parallel) * ";
	static const char *const bytes[] = {"bytes_of_a_parameter", "bytes_of_a_gradient", "bytes_of_optimizer"};
	static const char *const names[] = {"parameters", "gradients", "optimizer"};
	char text[400], second[160] = "";

	if (f->zero_stage >= 3 && f->second_group != 0)
		snprintf(second, sizeof second, " + %s%g / second_copy_over", each, f->second_bytes);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof text, "%s%s%s%s", each, bytes[i], f->zero_stage >= 3 - i ? " / sharded_over" : "",
			i ? "" : second);
		json_put_text(w, names[i], text);
	}
}

/* Of one layer that keeps what it needs. */
static void print_layer(const struct fit_setup *f, char *out, size_t size)
{
	bool keeps_scores = f->recompute != FIT_RECOMPUTE_SELECTIVE && !f->has_flash_attention;
	const char *scores = keeps_scores ? " + 5 * attention_heads * sequence_length / hidden_size" : "";

	if (f->is_sequence_parallel)
		snprintf(out, size, "(34%s) / tensor_parallel", scores);
	else if (keeps_scores)
		snprintf(out, size, "(10 + (24%s) / tensor_parallel)", scores);
	else
		snprintf(out, size, "(10 + 24 / tensor_parallel)");
}

static void write_formulas(struct json_writer *w, const struct fit_setup *f)
{
	char text[600], layer[160], more[100] = "";

	json_key(w, "formulas");
	json_object(w);
	write_state_formulas(w, f);
	print_layer(f, layer, sizeof layer);
	if (f->virtual_stages > 1)
		snprintf(more, sizeof more, " * (1 + (pipeline_parallel - 1) / (pipeline_parallel * %g))",
			f->virtual_stages);
	snprintf(text, sizeof text, "layers%s * sequence_length / context_parallel * micro_batch * hidden_size * ",
		more);
	size_t len = strlen(text);
	if (f->recompute != FIT_RECOMPUTE_FULL)
		snprintf(text + len, sizeof text - len, "%s", layer);
	else if (f->recomputed_share == 1)
		snprintf(text + len, sizeof text - len, "2");
	else
		snprintf(text + len, sizeof text - len, "(recomputed_share * 2 + (1 - recomputed_share) * %s)", layer);
	json_put_text(w, "activations", text);
	json_object_end(w);
}

/* What was counted, and how. null: somebody states how many parameters there are. */
static void write_model(struct json_writer *w, const struct fit_settings *settings)
{
	const struct model_size *m = &settings->model;
	char text[400];

	json_key(w, "model");
	if (!settings->counts_parameters || settings->other) {
		json_null(w);
		return;
	}
	json_object(w);
	api_put_known(w, "vocabulary", m->vocabulary);
	api_put_known(w, "key_value_heads", m->key_heads);
	api_put_known(w, "head_size", m->head_size);
	api_put_known(w, "feed_forward", m->feed_forward);
	api_put_known(w, "positions", m->positions);
	json_put_bool(w, "gated", m->is_gated);
	json_put_bool(w, "own_output_layer", m->has_own_output);
	json_put_bool(w, "biases", m->has_biases);
	json_put_bool(w, "rms_norm", m->has_rms_norm);
	snprintf(text, sizeof text,
		"hidden_size * (%svocabulary%s) + layers * (2 * hidden_size * head_size * (attention_heads + key_value_heads) + "
		"%d * hidden_size * feed_forward)%s",
		m->has_own_output ? "2 * " : "", m->positions > 0 ? " + positions" : "", m->is_gated ? 3 : 2,
		m->has_biases ? " + norms + biases" : " + norms");
	json_put_text(w, "formula", text);
	json_object_end(w);
}

static void write_unknown(struct json_writer *w, struct fit_settings *settings)
{
	json_key(w, "unknown");
	json_array(w);
	for (int i = 0; i < FIT_INPUTS; i++)
		if (isnan(*fit_input_of(&settings->setup, (enum fit_input)i)))
			json_text(w, fit_input_name((enum fit_input)i));
	if (settings->counts_parameters && !settings->other) {
		if (isnan(settings->model.vocabulary))
			json_text(w, "vocabulary");
		if (isnan(settings->model.feed_forward))
			json_text(w, "feed_forward");
	}
	json_array_end(w);
}

void fit_write_settings(struct json_writer *w, struct fit_settings *settings)
{
	struct fit_setup *f = &settings->setup;

	json_key(w, "inputs");
	json_object(w);
	for (int i = 0; i < FIT_INPUTS; i++)
		api_put_known(w, fit_input_name((enum fit_input)i), *fit_input_of(f, (enum fit_input)i));
	api_put_known(w, "sharded_over", fit_shards(f));
	api_put_known(w, "second_copy_over", f->zero_stage >= 3 && f->second_group != 0 ? f->second_group : NAN);
	json_put_i64(w, "zero_stage", f->zero_stage);
	json_put_text(w, "recompute", recompute_names[f->recompute]);
	api_put_known(w, "recomputed_share", f->recompute == FIT_RECOMPUTE_FULL ? f->recomputed_share : NAN);
	json_put_bool(w, "sequence_parallel", f->is_sequence_parallel);
	json_put_bool(w, "flash_attention", f->has_flash_attention);
	json_object_end(w);
	json_key(w, "from");
	json_object(w);
	for (int i = 0; i < FIT_INPUTS; i++)
		if (settings->from[i].len)
			json_put_span(w, fit_input_name((enum fit_input)i), settings->from[i]);
	json_object_end(w);
	write_unknown(w, settings);
	write_formulas(w, f);
	write_model(w, settings);
	json_key(w, "not_understood");
	json_array(w);
	for (size_t i = 0; i < settings->unread.count; i++)
		json_span(w, settings->unread.keys[i]);
	json_array_end(w);
	if (settings->other)
		json_put_text(w, "not_covered", settings->other);
}
