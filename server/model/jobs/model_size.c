#include "model/jobs/model_size.h"

#include <math.h>

/* ---- the count ---- */

static double attention(const struct model_size *m)
{
	double queries = m->heads * m->head_size, keys = m->key_heads * m->head_size;
	double biases = m->has_biases ? queries + 2 * keys + m->hidden : 0;

	return m->hidden * (2 * queries + 2 * keys) + biases;
}

static double feed_forward(const struct model_size *m)
{
	double inward = m->is_gated ? 2 : 1;
	double biases = m->has_biases ? inward * m->feed_forward + m->hidden : 0;

	return (inward + 1) * m->hidden * m->feed_forward + biases;
}

double model_size_count(const struct model_size *m)
{
	double norm = (m->has_rms_norm ? 1 : 2) * m->hidden;
	double embeddings = m->hidden * ((m->has_own_output ? 2 : 1) * m->vocabulary + m->positions);

	return embeddings + m->layers * (attention(m) + feed_forward(m) + 2 * norm) + norm;
}

double model_size_count_working(const struct model_size *model)
{
	struct model_size m = *model;

	m.has_own_output = false;
	m.vocabulary = isnan(m.vocabulary) ? 0 : m.vocabulary;
	m.positions = isnan(m.positions) ? 0 : m.positions;
	return model_size_count(&m);
}

/* ---- what settings say ---- */

static const char *const names[MODEL_SETTING_COUNT] = {
	[MODEL_HIDDEN] = "hidden_size n_embd d_model hidden_width hidden_dim",
	[MODEL_LAYERS] = "num_layers num_hidden_layers n_layer n_layers",
	[MODEL_HEADS] = "num_attention_heads num_heads n_head n_heads",
	[MODEL_KEY_HEADS] = "num_query_groups num_key_value_heads n_kv_heads num_kv_heads",
	[MODEL_HEAD_SIZE] = "kv_channels head_dim",
	[MODEL_FEED_FORWARD] = "ffn_hidden_size intermediate_size n_inner d_ff ffn_dim",
	[MODEL_FEED_FORWARD_RATIO] = "expansion_ratio",
	[MODEL_VOCABULARY] = "padded_vocab_size vocab_size n_vocab",
	[MODEL_POSITIONS] = "max_position_embeddings n_positions",
	[MODEL_POSITION_KIND] = "position_embedding_type pos_emb_type",
	[MODEL_ROTARY] = "use_rotary_position_embeddings rope_theta rotary_base",
	[MODEL_ALIBI] = "alibi use_alibi",
	[MODEL_GATED] = "swiglu gated_linear_unit",
	[MODEL_ACTIVATION] = ("hidden_act hidden_activation activation activation_function activation_func "
			      "activation_type"),
	[MODEL_FAMILY] = "model_type",
	[MODEL_TIED] = "tie_word_embeddings share_embeddings_and_output_weights weight_tying",
	[MODEL_UNTIED] = "untie_embeddings_and_output_weights",
	[MODEL_BIASES] = "add_bias_linear bias include_bias",
	[MODEL_NO_BIASES] = "disable_bias_linear no_bias",
	[MODEL_NORM] = "normalization norm_type",
};

const char *model_setting_names(enum model_setting setting)
{
	return names[setting];
}

struct reading {
	model_find *find;
	void *context;
};

/* Nobody says it: Python's None is no setting. */
static struct model_said said(const struct reading *r, enum model_setting setting)
{
	struct model_said found = r->find(r->context, setting);
	struct span text = span_trim(found.text);

	if (span_equal_fold(text, SPAN("none")) || span_equal_fold(text, SPAN("null")))
		found.is_there = false;
	return found;
}

static double size_of(const struct reading *r, enum model_setting setting)
{
	struct model_said found = said(r, setting);

	return found.is_there && found.number > 0 ? found.number : NAN;
}

static bool has_word(const struct model_said *found, const char *word)
{
	struct span wanted = span_from(word);

	for (size_t at = 0; found->is_there && at + wanted.len <= found->text.len; at++)
		if (span_equal_fold(span_of(found->text.ptr + at, wanted.len), wanted))
			return true;
	return false;
}

static bool is_on(const struct model_said *found)
{
	return found->is_there && (span_equal_fold(found->text, SPAN("true")) || found->number > 0);
}

/* A gated feed-forward layer is said as such, by its activation, or by the family that is known for it. */
static bool read_gated(const struct reading *r)
{
	static const char *const gates[] = {"glu", "silu"}, *const gated[] = {"llama", "mistral", "qwen", "gemma"};
	struct model_said flag = said(r, MODEL_GATED), activation = said(r, MODEL_ACTIVATION),
			  family = said(r, MODEL_FAMILY);
	bool is_said = is_on(&flag);

	for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
		is_said |= has_word(&activation, gates[i]);
	for (size_t i = 0; i < sizeof gated / sizeof *gated; i++)
		is_said |= has_word(&family, gated[i]);
	return is_said;
}

/* What is said as such, else what such a model has: Llama's kind where it is gated, GPT's else. */
static bool or_usual(const struct reading *r, enum model_setting setting, bool is_said_so, bool usual)
{
	struct model_said found = said(r, setting);

	return found.is_there ? is_on(&found) == is_said_so : usual;
}

static void read_kind(const struct reading *r, struct model_size *m)
{
	struct model_said norm = said(r, MODEL_NORM);

	m->is_gated = read_gated(r);
	m->has_own_output = or_usual(r, MODEL_UNTIED, true, or_usual(r, MODEL_TIED, false, m->is_gated));
	m->has_biases = or_usual(r, MODEL_NO_BIASES, false, or_usual(r, MODEL_BIASES, true, !m->is_gated));
	m->has_rms_norm = norm.is_there ? has_word(&norm, "rms") : m->is_gated;
}

/* Learned ones alone are parameters. */
static double read_positions(const struct reading *r, bool is_gated, double sequence)
{
	struct model_said alibi = said(r, MODEL_ALIBI), kind = said(r, MODEL_POSITION_KIND),
			  rotary = said(r, MODEL_ROTARY);
	double most = size_of(r, MODEL_POSITIONS);
	bool is_learned =
		kind.is_there ? has_word(&kind, "learn") || has_word(&kind, "absolute") : !is_gated && !rotary.is_there;

	if (is_on(&alibi) || !is_learned)
		return 0;
	return most > 0 ? most : sequence;
}

static double read_feed_forward(const struct reading *r, const struct model_size *m)
{
	struct model_said width = said(r, MODEL_FEED_FORWARD);
	double ratio = size_of(r, MODEL_FEED_FORWARD_RATIO);

	if (width.is_there)
		return width.number > 0 ? width.number : NAN;
	if (ratio > 0)
		return ratio * m->hidden;
	return m->is_gated ? NAN : 4 * m->hidden; /* as all of GPT have it; of gated ones no width is usual */
}

void model_size_read(struct model_size *out, double sequence, model_find *find, void *context)
{
	const struct reading r = {find, context};

	*out = (struct model_size){.layers = size_of(&r, MODEL_LAYERS),
		.hidden = size_of(&r, MODEL_HIDDEN),
		.vocabulary = size_of(&r, MODEL_VOCABULARY),
		.heads = size_of(&r, MODEL_HEADS),
		.key_heads = size_of(&r, MODEL_KEY_HEADS),
		.head_size = size_of(&r, MODEL_HEAD_SIZE)};
	read_kind(&r, out);
	if (isnan(out->key_heads))
		out->key_heads = out->heads;
	if (isnan(out->head_size))
		out->head_size = out->hidden / out->heads;
	out->feed_forward = read_feed_forward(&r, out);
	out->positions = read_positions(&r, out->is_gated, sequence);
}
