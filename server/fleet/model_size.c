#include "fleet/model_size.h"

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
