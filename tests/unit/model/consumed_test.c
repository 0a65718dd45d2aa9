#include "model/metrics/consumed.h"
#include "test.h"

TEST(series_that_count_the_data_are_known_by_name)
{
	CHECK_INT(consumed_of(SPAN("consumed_samples")), CONSUMED_SAMPLES);
	CHECK_INT(consumed_of(SPAN("consumed samples")), CONSUMED_SAMPLES);
	CHECK_INT(consumed_of(SPAN("train/num_input_tokens_seen")), CONSUMED_TOKENS);
	CHECK_INT(consumed_of(SPAN("train:Consumed_Tokens")), CONSUMED_TOKENS);
	CHECK_INT(consumed_of(SPAN("tokens_per_second")), CONSUMED_NOTHING);
	CHECK_INT(consumed_of(SPAN("")), CONSUMED_NOTHING);
	CHECK_INT(consumed_of(SPAN("consumed_samples_of_a_very_long_name_indeed")), CONSUMED_NOTHING);
}
