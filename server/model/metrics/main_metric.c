#include "model/metrics/main_metric.h"

#include "model/metrics/metric_words.h"

enum {
	RANK_DERIVED = 1000,
	RANK_LABELLED = 100,
	OFTEN = 4 /* printed a quarter as often as the busiest one is often enough */
};

/* A term that is added to the loss, or one of several that it is the sum of. */
static const char loss_parts[] =
	"_aux_ _auxiliary_ _moe_ _router_ _routing_ _balance_ _balancing_ _load_ _expert_ _experts_ _z_ _zloss_ _kl_ _kld_ "
	"_reg_ _regularization_ _mtp_ _penalty_ _entropy_loss_ _commit_ _commitment_ _policy_loss_ _value_loss_ _critic_ "
	"_actor_ _vf_ _pg_ _disc_ _discriminator_ _perceptual_ _lpips_ _distill_ _distillation_ _scaled_ _unscaled_ _best_ "
	"_min_ _max_ _std_";

/* Beside "loss" they say where it was taken, or how; any other word makes it a loss of something. */
static bool is_plain(struct span word)
{
	static const char words[] =
		"loss losses train training trainer total lm metrics metric stats avg mean average global "
		"reduced step iter model ce cross entropy nll val valid validation eval evaluation log";

	return metric_word_is_of(word, words);
}

static int rank_of_loss(struct span name)
{
	struct span rest = span_skip(name, 1), word;
	int others = 0;

	if (metric_words_have(name, loss_parts) && !metric_words_have(name, "_cross_entropy_loss_"))
		return MAIN_METRIC_PART;
	while (span_next(&rest, '_', &word))
		others += word.len && !is_plain(word);
	return others < MAIN_METRIC_PART ? others : MAIN_METRIC_PART - 1;
}

/* In the order in which people speak of it. */
static int rank_of_throughput(struct span name, struct span unit)
{
	bool is_each = metric_words_have(name, "_device_ _per_gpu_ _gpu_ _per_chip_ _chip_ _rank_") ||
		       span_find(unit, SPAN("/device")) >= 0 || span_find(unit, SPAN("/gpu")) >= 0 ||
		       span_find(unit, SPAN("/GPU")) >= 0 || span_find(unit, SPAN("/chip")) >= 0;

	if (metric_words_have(name, "flops flop_s_") || span_find(unit, SPAN("FLOP")) >= 0)
		return 6 + is_each;
	if (metric_words_have(name, "_token_ _tokens_ _tok_ _toks_ _tps_ _tgs_") || span_starts_with(unit, SPAN("tok")))
		return is_each;
	if (metric_words_have(name, "_sample_ _samples_ _images_ _img_ _sequences_ _seqs_ _frames_") ||
		span_starts_with(unit, SPAN("sample")))
		return 2 + is_each;
	return 4 + is_each;
}

int main_metric_rank(enum role role, const struct metric_candidate *candidate)
{
	char text[METRIC_WORDS_MAX_BYTES];
	ptrdiff_t labels = span_find_char(candidate->metric, '{');
	struct span name =
		metric_words(labels >= 0 ? span_of(candidate->metric.ptr, (size_t)labels) : candidate->metric, text);
	int rank = 0;

	if (role == ROLE_LOSS || role == ROLE_EVAL_LOSS)
		rank = rank_of_loss(name);
	else if (role == ROLE_THROUGHPUT)
		rank = rank_of_throughput(name, candidate->unit);
	else if (role == ROLE_REWARD)
		rank = !metric_words_have(
			name, "_raw_"); /* beside it is one that was normalised: 0, whatever was got */
	else if (role == ROLE_BENCHMARK)
		rank = !metric_words_have(name, "_busbw_ _throughput_"); /* before the time that it took */
	rank += labels >= 0 ? RANK_LABELLED : 0; /* of one rank or device */
	return rank + (span_starts_with(candidate->metric, SPAN("derived:")) ? RANK_DERIVED : 0);
}

static bool is_before(enum role role, const struct metric_candidate *a, const struct metric_candidate *b)
{
	int difference = main_metric_rank(role, a) - main_metric_rank(role, b);

	if (difference)
		return difference < 0;
	return a->metric.len != b->metric.len ? a->metric.len < b->metric.len : span_compare(a->metric, b->metric) < 0;
}

/* A part of the loss, and what is derived, take no other's place by being printed more often. */
static bool is_whole(enum role role, const struct metric_candidate *candidate)
{
	return main_metric_rank(role, candidate) < MAIN_METRIC_PART;
}

static bool is_named(const struct metric_candidate *candidate, enum role role)
{
	return span_equal(candidate->metric, span_from(role_name(role)));
}

static bool is_of(const struct metric_candidate *candidate, enum role role)
{
	enum role named;

	if (candidate->role != role) /* first: each metric is asked of each role */
		return false;
	/* its name speaks for another role, and a metric answers for one */
	return !role_parse(candidate->metric, &named) || named == ROLE_OTHER || named == role;
}

/* One point is no curve: it is a last word where another metric has one. */
static bool is_lone(const struct metric_candidate *candidate, uint64_t most)
{
	return candidate->count <= 1 && candidate->count < most / OFTEN;
}

size_t main_metric_find(enum role role, const struct metric_candidate *candidates, size_t count)
{
	uint64_t most = 0;
	size_t named = count, best = count;
	bool has_whole = false;

	for (size_t i = 0; i < count; i++) {
		if (named == count && is_named(&candidates[i], role))
			named = i;
		has_whole |= is_of(&candidates[i], role) && is_whole(role, &candidates[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (is_of(&candidates[i], role) && (!has_whole || is_whole(role, &candidates[i])) &&
			candidates[i].count > most)
			most = candidates[i].count;
	if (named < count && !is_lone(&candidates[named], most))
		return named;
	for (size_t i = 0; i < count; i++)
		if (is_of(&candidates[i], role) && (!has_whole || is_whole(role, &candidates[i])) &&
			candidates[i].count >= most / OFTEN &&
			(best == count || is_before(role, &candidates[i], &candidates[best])))
			best = i;
	return best;
}
