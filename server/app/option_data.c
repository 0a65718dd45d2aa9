/* Files of one's own over what the program knows of devices, prices, limits and named models. */
#include "app/option_tables.h"

const struct option_spec option_data[] = {
	{.name = "devices-file",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.heading = "Data of one's own",
		.help = "Devices and instance types beside those that the program knows, or in their place: their peaks and memory, as JSON."},
	{.name = "prices-file",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.help = "The list of prices: put with each start, as PUT /api/v1/prices does."},
	{.name = "limits-file",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.help = "S3's limits and links of instance types, the same way as devices."},
	{.name = "references-file",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.help = "Scores of named models, the same way; a list that was put by PUT /api/v1/evaluation-references goes before it."},
	{.more = option_commands},
};
