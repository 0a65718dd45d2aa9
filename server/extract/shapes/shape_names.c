#include "extract/shapes/shape_names.h"

#include "extract/line/number.h"

#include <stdio.h>

/* As metric_words_have takes them. */
static const char never_words[] =
	"_pid_ _port_ _rank_ _ranks_ _seed_ _version_ _id_ _idx_ _line_ _lineno_ _eta_ _elapsed_ _remaining_ _left_ _timestamp_ "
	"_year_ _time_ms_ _worker_ _workers_ _thread_ _threads_ _offset_ _address_ _node_ _nodes_ _hour_ _minute_ _shard_ _world_size_ "
	"_user_ _total_ _py_ _checkpoint_ _ckpt_ _ts_ _date_ _uid_ _gid_ _exit_ _signal_ _errno_ _attempt_ _layer_ _layers_ _bytes_ _device_ _file_";
static const char known_words[] =
	"_obj_ _objective_ _cost_ _criterion_ _nll_ _xent_ _ce_ _xe_ _cross_entropy_ _crossentropy_ _ppl_ _perplexity_ _bpb_ _bpc_ "
	"_reward_ _rewards_ _return_ _kl_ _entropy_ _score_ _precision_ _recall_ _f1_ _bleu_ _rouge_ _wer_ _cer_ _iou_ _miou_ _dice_ "
	"_psnr_ _ssim_ _fid_ _mse_ _mae_ _rmse_ _err_ _error_ _map_ _ap_ _grad_ _gnorm_ _tok_ _tokens_ _samples_ _img_ _images_ "
	"_tflops_ _tflop_ _speed_ _throughput_ _ips_ _tgs_ _wps_ _tps_ _dt_ _clip_ _clipfrac_ _advantage_ _value_loss_ _policy_loss_ "
	"_temperature_ _accuracy_ _top1_ _top5_ _auc_ _ndcg_ _mrr_ _hit_";
/* Of these a learner makes less; role_guess knows the others. */
static const char loss_words[] =
	"_obj_ _objective_ _cost_ _criterion_ _nll_ _xent_ _ce_ _xe_ _cross_entropy_ _crossentropy_";
static const char step_words[] =
	"_step_ _steps_ _global_step_ _iter_ _iters_ _iteration_ _iterations_ _it_ _batch_ _update_ _updates_ _num_updates_ _episode_ _round_";
static const char epoch_words[] = "_epoch_ _epochs_ _ep_";
/* They join words, or say how grave a line is; they name nothing. */
#define JOINING "_the_ _is_ _of_ _at_ _now_ _was_ _are_ _with_ _and_ _in_ _to_ _a_ _for_ _on_ _by_"
static const char joining_words[] = JOINING;
static const char idle_words[] = "_info_ _warning_ _warn_ _debug_ _error_ _notice_ " JOINING;

static const char split_words[] = "_val_ _valid_ _validation_ _eval_ _evaluation_ _test_ _dev_ _heldout_";

enum { UNIT_BYTES_MAX = 4, RATE_BYTES_MAX = 8 /* a word of "tokens/sec" */ };

static bool has_word(struct span text, const char *words)
{
	char folded[METRIC_WORDS_MAX_BYTES];

	return text.len <= METRIC_NAME_MAX_BYTES && metric_words_have(metric_words(text, folded), words);
}

/* "lr [-] 3e-4": what stands in brackets of its own is left out. */
static struct span behind_brackets(struct span gap)
{
	ptrdiff_t open = span_find_char(gap, '['), close = span_find_char(gap, ']');

	if (open < 0) {
		open = span_find_char(gap, '(');
		close = span_find_char(gap, ')');
	}
	return open >= 0 && close > open ? span_skip(gap, (size_t)close + 1) : gap;
}

/* "loss_", "'loss': " and "loss -> " lead to the number; "loss, " and "loss) " do not. */
static bool leads_to_number(struct span gap)
{
	gap = behind_brackets(gap);
	for (size_t i = 0; i < gap.len; i++)
		if (memchr(",;|)]}\t", gap.ptr[i], 7))
			return false;
	return true;
}

static bool joins_words(struct span gap)
{
	char marks[4];
	size_t len = shape_gap_squeeze(gap, marks, sizeof marks);

	bool is_sentence = gap.len > 1 && marks[0] == '.';
	return len == 0 || (len == 1 && !is_sentence && memchr(" _-./:", marks[0], 6));
}

static bool is_after(struct span gap, const char *marks)
{
	return gap.len && memchr(marks, gap.ptr[gap.len - 1], strlen(marks));
}

/* "time per iteration (ms): 23.5", "speed [tok/s] 512": where the words in brackets begin; `number` itself when there are none. */
static size_t first_of_unit(const struct shape_token *tokens, size_t number)
{
	size_t at = number;
	bool is_rate = false;

	if (!number || !tokens[number].gap.len || !memchr(")]", tokens[number].gap.ptr[0], 2))
		return number;
	while (at > 0 && number - at < SHAPE_UNIT_WORDS_MAX && tokens[at - 1].kind == SHAPE_WORD) {
		const struct shape_token *word = &tokens[--at];
		if (word->text.len > (is_rate || is_after(word->gap, "/") ? RATE_BYTES_MAX : UNIT_BYTES_MAX))
			return number;
		if (is_after(word->gap, "(["))
			return at;
		if (!span_equal(word->gap, SPAN("/")))
			return number;
		is_rate = true;
	}
	return number;
}

/* The first of the words that end before token `end`; `end` itself when there is none. */
static size_t first_word(const struct shape_token *tokens, const bool *hides, size_t number, size_t end)
{
	size_t at = end;

	while (at > 0 && end - at < SHAPE_NAME_WORDS_MAX) {
		const struct shape_token *word = &tokens[at - 1];
		bool is_joined = at < end       ? joins_words(tokens[at].gap)
				 : at == number ? leads_to_number(tokens[at].gap)
						: true;
		if (word->kind != SHAPE_WORD || hides[at - 1] || !is_joined)
			break;
		at--;
	}
	/* Of "INFO loss" and "the loss" the loss is left. */
	while (end - at > 1 && has_word(tokens[at].text, idle_words))
		at++;
	return at;
}

/* "it/s", "tokens/sec", "ms" right behind the number, or a blank away; `number` itself when there is none. */
static size_t last_unit(const struct shape_token *tokens, const bool *hides, size_t count, size_t number)
{
	size_t at = number;
	char marks[4];

	while (at + 1 < count && at - number < SHAPE_UNIT_WORDS_MAX) {
		const struct shape_token *word = &tokens[at + 1];
		size_t len = shape_gap_squeeze(word->gap, marks, sizeof marks);
		bool is_joined = len == 0 || (len == 1 && (at == number ? marks[0] == ' ' : marks[0] == '/'));
		if (word->kind != SHAPE_WORD || hides[at + 1] || !is_joined)
			break;
		at++;
	}
	/* Of "12 loss 2.5" the word names what is behind it. */
	bool leads_on = at + 1 < count && tokens[at + 1].kind == SHAPE_NUMBER && leads_to_number(tokens[at + 1].gap);
	return at == number + 1 && tokens[at].gap.len && leads_on ? number : at;
}

/* "validation: loss 2.5": the split among the words that the line begins with; SIZE_MAX: none. */
static size_t find_split(const struct shape_token *tokens, const bool *hides, size_t count)
{
	for (size_t i = 0; i < count && tokens[i].kind == SHAPE_WORD; i++)
		if (!hides[i] && tokens[i].text.len < sizeof "evaluation" && has_word(tokens[i].text, split_words))
			return i;
	return SIZE_MAX;
}

static struct span join(
	struct arena *arena, const struct shape_token *tokens, size_t from, size_t to, const char *separator)
{
	char text[METRIC_NAME_MAX_BYTES + 1];
	size_t len = 0;

	for (size_t i = from; i < to; i++) {
		struct span word = span_cut(tokens[i].text, 80);
		if (len + word.len + 1 > METRIC_NAME_MAX_BYTES)
			break;
		if (i > from)
			text[len++] = *separator;
		memcpy(text + len, word.ptr, word.len);
		len += word.len;
	}
	return arena_copy(arena, span_of(text, len));
}

static struct span join_split(struct arena *arena, struct span split, struct span name)
{
	char text[METRIC_NAME_MAX_BYTES + 1];
	int len = snprintf(text, sizeof text, "%.*s_%.*s", SPAN_ARGS(split), SPAN_ARGS(span_cut(name, 200)));

	return arena_copy(arena, span_of(text, (size_t)len));
}

static struct span numbered(struct arena *arena, const struct shape_token *tokens, size_t number)
{
	char text[32];
	size_t place = 1;

	for (size_t i = 0; i < number; i++)
		place += tokens[i].kind == SHAPE_NUMBER;
	return arena_copy(arena, span_of(text, (size_t)snprintf(text, sizeof text, "value_%zu", place)));
}

static bool counts(struct span name)
{
	return has_word(name, step_words) || has_word(name, epoch_words);
}

static enum shape_meaning meaning_of(struct span name, enum role role)
{
	bool is_rate = role == ROLE_THROUGHPUT || role == ROLE_STEP_TIME;

	if (!is_rate && has_word(name, epoch_words))
		return SHAPE_EPOCHS;
	if (role != ROLE_OTHER || metric_is_score(name))
		return SHAPE_KNOWN;
	if (has_word(name, step_words))
		return SHAPE_STEPS;
	if (has_word(name, never_words))
		return SHAPE_NEVER;
	return has_word(name, known_words) ? SHAPE_KNOWN : SHAPE_MAY_BE;
}

static enum role role_of(struct span name)
{
	enum role role = role_guess(name);

	if (role == ROLE_OTHER && has_word(name, "_gnorm_"))
		return ROLE_GRAD_NORM;
	if (role != ROLE_OTHER || !has_word(name, loss_words))
		return role;
	return metric_is_evaluation(name) ? ROLE_EVAL_LOSS : ROLE_LOSS;
}

struct shape_name shape_name_of(
	struct arena *arena, const struct shape_token *tokens, const bool *hides, size_t count, size_t number)
{
	size_t end = first_of_unit(tokens, number);
	size_t first = first_word(tokens, hides, number, end), last = last_unit(tokens, hides, count, number);
	if (first == end) /* no word before the bracket */
		first = end = number;
	struct shape_name out = {.unit = SPAN(""), .first_token = first, .last_token = number};

	bool is_idle = first + 1 == end && has_word(tokens[first].text, joining_words);
	if (first < end && !is_idle)
		out.name = join(arena, tokens, first, end, "_");
	else if (last > number)
		out.name = join(arena, tokens, number + 1, last + 1, "/");
	else
		out.name = numbered(arena, tokens, number);
	if (first == number)
		out.last_token = last;
	if (end < number)
		out.unit = join(arena, tokens, end, number, "/");
	else if (last > number && (unit_seconds(tokens[number + 1].text) > 0 || last > number + 1))
		out.unit = join(arena, tokens, number + 1, last + 1, "/");
	if (out.unit.len > METRIC_UNIT_MAX_BYTES)
		out.unit = SPAN("");
	size_t split = find_split(tokens, hides, number);
	if (out.name.ptr && split < first && !has_word(out.name, split_words) && !counts(out.name))
		out.name = join_split(arena, tokens[split].text, out.name);
	if (!out.name.ptr)
		return out;
	out.role = role_of(out.name);
	out.meaning = meaning_of(out.name, out.role);
	return out;
}
