#include "ingest/otlp/span_names.h"

enum { NAMES_MAX = 128, NAME_MAX_BYTES = 64 };

struct name {
	char text[NAME_MAX_BYTES]; /* folded */
	size_t len;
	enum span_part part;
};

struct ingest_span_names {
	struct name names[NAMES_MAX];
	size_t count;
};

static const char *const part_names[SPAN_PARTS] = {
	"data", "forward", "backward", "communication", "optimizer", "checkpoint", "step"};

static const char known[] =
	"data=data,data_loading,data_load,data_loader,dataloader,data_wait,load_data,load_batch,get_batch,next_batch,fetch_batch,"
	"batch_generator,get_train_batch;"
	"forward=forward,forward_pass,forward_compute,fwd;"
	"backward=backward,backward_pass,backward_compute,bwd;"
	"communication=communication,all_reduce,allreduce,all_gather,allgather,reduce_scatter,all_to_all,broadcast,grad_sync,"
	"grads_sync,all_grads_sync,grads_all_reduce,gradient_sync,sync_gradients;"
	"optimizer=optimizer,optimizer_step,optimizer.step,optim_step,opt_step;"
	"checkpoint=checkpoint,checkpoint_save,save_checkpoint,checkpointing;"
	"step=step,train_step,training_step,iteration,train_iteration,training_iteration";

static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c | 0x20);
	if (c == '/' || c == ':')
		return '.';
	return c == '-' || c == ' ' ? '_' : c;
}

static enum status add_name(struct ingest_span_names *names, enum span_part part, struct span text, struct error *err)
{
	if (!text.len || text.len > NAME_MAX_BYTES)
		return error_set(err, ERR_INVALID,
			"--span-names: the name '%.*s' of %s has %zu bytes; it takes 1 to %d",
			(int)(text.len < 80 ? text.len : 80), text.ptr, part_names[part], text.len, NAME_MAX_BYTES);
	if (names->count == NAMES_MAX)
		return error_set(
			err, ERR_INVALID, "--span-names has more than %d names, with those that are known", NAMES_MAX);
	struct name *name = &names->names[names->count++];
	*name = (struct name){.len = text.len, .part = part};
	for (size_t i = 0; i < text.len; i++)
		name->text[i] = fold(text.ptr[i]);
	return OK;
}

/* data=load_batch,fetch */
static enum status read_part(struct ingest_span_names *names, struct span text, struct error *err)
{
	ptrdiff_t equals = span_find_char(text, '=');
	struct span said = span_trim(equals < 0 ? text : span_of(text.ptr, (size_t)equals)), list, name;

	for (int part = 0; part < SPAN_PARTS && equals >= 0; part++) {
		if (!span_equal(said, span_from(part_names[part])))
			continue;
		list = span_skip(text, (size_t)equals + 1);
		while (span_next(&list, ',', &name))
			TRY(add_name(names, (enum span_part)part, span_trim(name), err));
		return OK;
	}
	return error_set(err, ERR_INVALID,
		"--span-names: '%.*s' is no PART=NAME,NAME with a part of data, forward, backward, communication, "
		"optimizer, checkpoint, step",
		(int)(text.len < 80 ? text.len : 80), text.ptr);
}

static enum status read_parts(struct ingest_span_names *names, struct span text, struct error *err)
{
	struct span part;

	while (span_next(&text, ';', &part))
		if (span_trim(part).len)
			TRY(read_part(names, part, err));
	return OK;
}

enum status ingest_span_names_new(struct ingest_span_names **out, const char *text, struct error *err)
{
	AUTO(ingest_span_names) names = mem_zeroed(sizeof *names);

	if (!names)
		return error_no_memory(err);
	TRY(read_parts(names, span_from(text), err));
	TRY(read_parts(names, span_from(known), err));
	*out = TAKE(names);
	return OK;
}

void ingest_span_names_free(struct ingest_span_names *names)
{
	mem_free(names);
}

static bool is_name(const struct name *name, struct span text)
{
	if (name->len != text.len)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (fold(text.ptr[i]) != name->text[i])
			return false;
	return true;
}

enum span_part ingest_span_part(const struct ingest_span_names *names, struct span name)
{
	size_t from = name.len > NAME_MAX_BYTES ? name.len - NAME_MAX_BYTES : 0; /* no longer rest is a name */

	for (size_t at = from; at < name.len; at++) {
		if (at && fold(name.ptr[at - 1]) != '.')
			continue;
		for (size_t i = 0; i < names->count; i++)
			if (is_name(&names->names[i], span_skip(name, at)))
				return names->names[i].part;
	}
	return SPAN_PART_NONE;
}
