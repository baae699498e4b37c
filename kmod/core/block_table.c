// SPDX-License-Identifier: GPL-2.0
/*
 * Playback of a record: a load, a displacement history, an earthquake.
 *
 * The samples are rows of one value per output, "interval" seconds apart, the
 * first one at the time "start". Between them:
 *
 *	hold	the last sample
 *	linear	straight line
 *	cubic	Catmull-Rom spline, continuous with its first derivative:
 *		y = y1 + u/2 (y2 - y0 + u (2 y0 - 5 y1 + 4 y2 - y3 +
 *		u (3 (y1 - y2) + y3 - y0)))
 *
 * After the last sample it stays (hold), drops to zero, or the record begins
 * again one interval later (repeat). Before the first one it is zero if the
 * end is zero, else the first sample. Where the spline needs a neighbour
 * beyond the end, the line through the last two samples gives it.
 */
#include "block_types.h"

enum { SAMPLES, INTERVAL, GAIN, INTERPOLATION, END, START, N_FIELDS };
enum { BY_HOLD, BY_LINE, BY_CUBIC };
enum { END_HOLD, END_ZERO, END_REPEAT };

static const char *const interpolation_words[] = {
	"hold", "linear", "cubic", HT_NULL
};

static const char *const end_words[] = { "hold", "zero", "repeat", HT_NULL };

static const struct ht_field fields[] = {
	{ "samples", "", -HT_ANY, HT_ANY, 0, HT_FIELD_DATA | HT_FIELD_FIXED, HT_NULL,
	  "row by row, one value per output" },
	{ "interval", "s", 1e-9, 1e6, 0, HT_FIELD_FIXED, HT_NULL, "time between rows" },
	{ "gain", "", -HT_ANY, HT_ANY, 1, HT_FIELD_OPTIONAL, HT_NULL, "factor of every sample" },
	{ "interpolation", "", 0, 2, BY_LINE,
	  HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED, interpolation_words,
	  "between rows" },
	{ "end", "", 0, 2, END_HOLD, HT_FIELD_OPTIONAL | HT_FIELD_INTEGER | HT_FIELD_FIXED,
	  end_words, "what follows the last row" },
	{ "start", "s", 0, 1e6, 0, HT_FIELD_OPTIONAL | HT_FIELD_FIXED, HT_NULL,
	  "time of the first row" },
};

static const struct ht_dim dims[] = {
	{ "length", 1, 1u << 24, 0, HT_DIM_LENGTH, SAMPLES, 1,
	  "number of samples of all outputs together" },
};

static int layout(ht_u32 n_in, ht_u32 n_out, const ht_u32 *dim, struct ht_layout *l)
{
	(void)n_in;
	if (dim[0] % n_out)
		return HT_ERR_DIMS;
	l->count[SAMPLES] = dim[0];
	l->count[INTERVAL] = 1;
	l->count[GAIN] = 1;
	l->count[INTERPOLATION] = 1;
	l->count[END] = 1;
	l->count[START] = 1;
	return HT_OK;
}

static ht_u32 n_rows(const struct ht_block *b)
{
	return b->dims[0] / b->n_out;
}

/* Sample of a row from -1 to two beyond the last. */
static double sample(const struct ht_block *b, ht_s64 row, ht_u32 channel)
{
	const double *y = b->field[SAMPLES] + channel;
	const ht_s64 n = n_rows(b);
	const ht_u32 width = b->n_out;

	if (row >= 0 && row < n)
		return y[row * width];
	if (ht_choice(b, END) == END_REPEAT)
		return y[((row + n) % n) * width];
	if (n == 1)
		return y[0];
	if (row < 0)
		return 2.0 * y[0] - y[width];
	return 2.0 * y[(n - 1) * width] - y[(n - 2) * width];
}

static double between(const struct ht_block *b, ht_s64 row, double u, ht_u32 channel)
{
	double y0, y1, y2, y3;

	y1 = sample(b, row, channel);
	if (u == 0.0 || ht_choice(b, INTERPOLATION) == BY_HOLD)
		return y1;
	y2 = sample(b, row + 1, channel);
	if (ht_choice(b, INTERPOLATION) == BY_LINE)
		return y1 + u * (y2 - y1);
	y0 = sample(b, row - 1, channel);
	y3 = sample(b, row + 2, channel);
	return y1 + 0.5 * u * (y2 - y0 + u * (2.0 * y0 - 5.0 * y1 + 4.0 * y2 - y3 +
					      u * (3.0 * (y1 - y2) + y3 - y0)));
}

static void step(const struct ht_block *b)
{
	const double gain = b->field[GAIN][0];
	const double n = (double)n_rows(b);
	const ht_u32 end = ht_choice(b, END);
	/* Time in rows; ticks that are meant to meet a row do. */
	double at = ht_snap((ht_time(b) - b->field[START][0]) / b->field[INTERVAL][0]);
	double last = ht_choice(b, INTERPOLATION) == BY_HOLD ? n : n - 1.0;
	int silent = 0;
	ht_u32 i, row;

	if (at < 0.0) {
		silent = end == END_ZERO;
		at = 0.0;
	} else if (end == END_REPEAT) {
		at -= n * ht_floor(at / n);
	} else if (at > n - 1.0) {
		silent = end == END_ZERO && (at > last || at >= n);
		at = n - 1.0;
	}
	at = ht_clamp(at, 0.0, n);
	row = ht_index(at, n_rows(b) - 1);
	for (i = 0; i < b->n_out; i++) {
		double u = ht_clamp(at - (double)row, 0.0, 1.0);

		ht_out(b, i, silent ? 0.0 : gain * between(b, row, u, i));
	}
}

const struct ht_block_type ht_type_table = {
	.name = "table",
	.summary = "playback of a record with interpolation",
	.dims = dims,
	.n_dims = HT_COUNT(dims),
	.fields = fields,
	.n_fields = N_FIELDS,
	.min_out = 1,
	.max_out = HT_MAX_PORTS,
	.layout = layout,
	.step = step,
};
