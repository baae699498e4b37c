/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Program image: what the supervisor compiles and the loop runs.
 *
 * An image is one block of bytes, little endian, every section 8-byte
 * aligned. The sections follow the header in a fixed order and their places
 * are computed from the counts of the header, so that there is no offset that
 * could point astray:
 *
 *	struct ht_image_header
 *	struct ht_image_signal		[n_signals]
 *	struct ht_image_input		[n_inputs]
 *	struct ht_image_output		[n_outputs]
 *	struct ht_image_block		[n_blocks]
 *	struct ht_image_interlock	[n_interlocks]
 *	double				[n_params]	can change while running
 *	double				[n_data]	constant tables
 *	ht_u32				[n_wires]	signal numbers of block ports
 *	ht_u32				[n_records]	signals put into each record
 *	char				[text_size]	the experiment file
 *
 * Everything that is not used must be zero. ht_image_check() tells whether an
 * image can be run; nothing else may look into one that was not checked.
 */
#ifndef HT_CORE_IMAGE_H
#define HT_CORE_IMAGE_H

#include "types.h"

#define HT_IMAGE_MAGIC		0x49545948u	/* "HYTI" */
#define HT_IMAGE_VERSION	2

#define HT_NAME_LEN		32	/* with the closing zero */
#define HT_UNIT_LEN		16
#define HT_DEVICE_LEN		64
#define HT_MAX_DIMS		4

/* Upper bounds of the counts, far above use, far below overflow. */
#define HT_MAX_SIGNALS		4096
#define HT_MAX_PORTS		1024	/* inputs or outputs of one block */
#define HT_MAX_BLOCKS		4096
#define HT_MAX_INTERLOCKS	256
#define HT_MAX_CHANNELS		256	/* inputs or outputs of the program */
#define HT_MAX_VALUES		(1u << 26)	/* parameters, or data */
#define HT_MAX_TEXT		(1u << 20)
#define HT_MAX_RING		(1u << 22)	/* records */
#define HT_MAX_OUTPUT		1e100	/* limits, safe value, rates of an output */
#define HT_MAX_LATE_TICKS	1000	/* ticks, scans or writes in a row without a trip */
#define HT_MAX_RANGE_MV		1000000	/* of a converter of a rig */
#define HT_MAX_RAMP_TIME	3600	/* s from limit to limit */
#define HT_MIN_PERIOD_NS	10000ull	/* 100 kHz */
#define HT_MAX_PERIOD_NS	1000000000ull	/* 1 Hz */

enum ht_image_kind {
	HT_IMAGE_LOOP,		/* inputs are measured, outputs commanded */
	HT_IMAGE_RIG,		/* inputs are DAC channels, outputs ADC channels (rig.h) */
	HT_IMAGE_KINDS
};

/* Rig: stands in its initial state until the first command that moves. */
#define HT_IMAGE_HELD	1u

/*
 * Of a rig everything from ring_records to post_trip_ticks is zero, and so are
 * n_interlocks, n_records, scan_ticks and write_ticks.
 */

struct ht_image_header {
	ht_u32 magic;
	ht_u32 version;
	ht_u32 size;		/* bytes of the whole image */
	ht_u32 crc;		/* CRC-32 of the image with this field zero */
	ht_u64 period_ns;	/* length of a tick */
	ht_u32 n_signals;
	ht_u32 n_inputs;
	ht_u32 n_outputs;
	ht_u32 n_blocks;
	ht_u32 n_interlocks;
	ht_u32 n_params;
	ht_u32 n_data;
	ht_u32 n_wires;
	ht_u32 n_records;
	ht_u32 text_size;
	ht_u32 ring_records;	/* capacity of the ring, a power of two */
	ht_u32 soft_start_ticks; /* outputs fade in over so many ticks */
	ht_u32 soft_stop_ticks;	/* and out again */
	ht_u32 budget_ns;	/* for a dry tick: at most 3/4 of the period */
	ht_u32 deadline_ns;	/* lateness + execution of a tick, 1..period */
	ht_u32 deadline_ticks;	/* so many late ticks in a row trip, 1..1000 */
	ht_u32 missed_ticks;	/* so many missed in a row trip; 0: never */
	ht_u32 heartbeat_ms;	/* the owner must call so often; 0: need not */
	ht_u32 post_trip_ticks;	/* records kept after outputs became safe, <= HT_MAX_RING */
	ht_u32 kind;		/* enum ht_image_kind */
	ht_u32 flags;		/* rig: HT_IMAGE_HELD */
	ht_u32 scan_ticks;	/* so many ticks without a new scan trip, 1..1000; rig: 0 */
	ht_u32 write_ticks;	/* so many ticks with failed writes trip, 1..1000; rig: 0 */
	ht_u32 reserved;
};

struct ht_image_signal {
	char name[HT_NAME_LEN];
	char unit[HT_UNIT_LEN];
	double initial;
};

enum ht_channel_kind {
	HT_CHANNEL_NONE,	/* bound to nothing: an input keeps its initial value */
	HT_CHANNEL_IIO,
	HT_CHANNEL_GPIO,	/* input only: 0 or 1 */
	HT_CHANNEL_KINDS
};

/*
 * Where a signal meets the world. Units of the world are SI (V, A, m/s^2, ...):
 *
 *	signal = gain * world + offset
 *
 * Loop: the device is the name or label of an IIO device, or the label of a
 * GPIO chip; empty, the name is looked up in the device tree (io-channel-names,
 * or NAME-gpios). The name is a channel of it, or the number of a line.
 *
 * Rig: no device; an IIO voltage channel with this label; codes of so many bits
 * for -range to +range. Of an ADC channel, noise is the rms of white noise that
 * each sample gets.
 *
 * What a kind does not use is zero.
 */
struct ht_image_channel {
	ht_u32 kind;		/* enum ht_channel_kind */
	ht_u32 bits;		/* rig: 2..32 */
	ht_u32 range_mv;	/* rig: 1..HT_MAX_RANGE_MV */
	ht_u32 reserved;
	double gain;		/* not 0; a negative one turns the sign */
	double offset;
	double noise;		/* rig, ADC: V */
	char device[HT_DEVICE_LEN];
	char name[HT_NAME_LEN];
};

/* Input: read it channel by channel even if the device has a buffer. */
#define HT_INPUT_POLL	1u

/* A measured signal, written before the program steps. */
struct ht_image_input {
	ht_u32 signal;
	ht_u32 flags;		/* HT_INPUT_POLL */
	struct ht_image_channel channel;
};

/*
 * A commanded signal on its way to an actuator. Units: those of the signal. Of
 * a rig only signal and channel are used, the rest is zero.
 */
struct ht_image_output {
	ht_u32 signal;
	ht_u32 flags;		/* none yet */
	double safe;		/* where a trip or a stop takes it */
	double min;
	double max;
	double slew;		/* per second until a trip; 0: unlimited */
	double ramp;		/* per second towards safe after a trip */
	/* Neither may take longer than HT_MAX_RAMP_TIME, or get stuck by rounding. */
	struct ht_image_channel channel;
};

struct ht_image_block {
	ht_u32 type;		/* number in the table of block types */
	ht_u32 n_in;
	ht_u32 n_out;
	ht_u32 flags;		/* none yet */
	ht_u32 dims[HT_MAX_DIMS];
	char name[HT_NAME_LEN];
};

/*
 * The first four look at d = signal - other, or signal alone, the next two at
 * the signal. The difference of two signals is a synchronisation error: while the
 * outputs fade in or out, one that is an output counts as it was commanded last.
 * What is not a number violates. Before tick 0 the window of the rms
 * is full of zeros; the rate at tick 0 is zero.
 *
 * The others watch the loop itself (struct ht_vitals of loop.h): no signal, no
 * other, limit in high. They come on top of what the header asks for.
 */
enum ht_interlock_kind {
	HT_LOCK_RANGE,		/* low <= d <= high */
	HT_LOCK_RATE,		/* |change of d per second| <= high */
	HT_LOCK_DIFFERENCE,	/* |d| <= high (sync error) */
	HT_LOCK_RMS,		/* rms of d over the window <= high */
	HT_LOCK_ENABLE,		/* signal >= low: somebody keeps a line high */
	HT_LOCK_ESTOP,		/* the same; the words for people differ */
	HT_LOCK_SCAN,		/* ticks since the newest scan, worst input, <= high */
	HT_LOCK_LOST,		/* scans lost since START <= high */
	HT_LOCK_WRITE,		/* ticks in a row with outputs not written <= high */
	HT_LOCK_STEP,		/* s that the last tick took, lateness included, <= high */
	HT_LOCK_MISSED,		/* ticks missed just before this one <= high */
	HT_LOCK_HEARTBEAT,	/* s since the owner's heartbeat <= high */
	HT_LOCK_KINDS
};

enum ht_action {
	HT_ACTION_RAMP,		/* to the safe value by the ramp */
	HT_ACTION_HOLD,		/* stay where it is */
	HT_ACTION_CUT,		/* to the safe value at once */
	HT_ACTIONS
};

#define HT_NO_SIGNAL 0xffffffffu

/* Watches the loop itself, not signals. */
#define HT_LOCK_IS_VITAL(kind) ((kind) >= HT_LOCK_SCAN)

/*
 * While running any violation trips, and any trip stays until acknowledged. An
 * interlock with a latch does so while armed, too; one without refuses START
 * for as long as it is violated, and the loop stays armed.
 */
#define HT_LOCK_LATCH	1u

struct ht_image_interlock {
	ht_u32 kind;
	ht_u32 action;
	ht_u32 signal;
	ht_u32 other;		/* HT_NO_SIGNAL: none, compare with zero */
	ht_u32 delay_ticks;	/* violated so long before it trips, 0: at once */
	ht_u32 window_ticks;	/* RMS only */
	ht_u32 flags;		/* HT_LOCK_LATCH */
	ht_u32 reserved;
	double low;		/* RANGE, ENABLE and ESTOP only */
	double high;		/* not ENABLE and ESTOP */
	char name[HT_NAME_LEN];
};

/* Why an image or a batch was refused. The text is in ht_error_text(). */
enum ht_error_code {
	HT_OK,
	HT_ERR_SIZE,		/* image shorter or longer than its header says */
	HT_ERR_MAGIC,
	HT_ERR_VERSION,
	HT_ERR_CRC,
	HT_ERR_COUNT,		/* a count or header value is out of bounds */
	HT_ERR_RESERVED,	/* an unused field is not zero */
	HT_ERR_NAME,		/* name or unit empty (name), not closed, not printable */
	HT_ERR_NOT_FINITE,	/* NaN or infinity where a number must be */
	HT_ERR_RANGE,		/* a value is outside its range */
	HT_ERR_INTEGER,		/* a value must be an integer */
	HT_ERR_SIGNAL,		/* a signal number does not exist */
	HT_ERR_WRITERS,		/* two writers of one signal */
	HT_ERR_TYPE,		/* unknown block type, kind of interlock or action */
	HT_ERR_PORTS,		/* wrong number of inputs or outputs */
	HT_ERR_DIMS,		/* a dimension is out of bounds */
	HT_ERR_LAYOUT,		/* blocks need more or fewer values than given */
	HT_ERR_SINGULAR,	/* a matrix cannot be inverted */
	HT_ERR_UNSTABLE,	/* the scheme is unstable at this period */
	HT_ERR_ORDER,		/* values must rise, or low exceeds high */
	HT_ERR_FIXED,		/* this parameter cannot change while running */
	HT_ERR_PARAM,		/* a parameter number does not exist */
	HT_ERR_KIND,		/* a loop's image where a rig's must be, or the reverse */
	HT_ERR_CHANNEL,		/* kind, gain, bits, range or noise of a channel */
	HT_ERRORS
};

enum ht_error_where {
	HT_AT_IMAGE,
	HT_AT_SIGNAL,
	HT_AT_INPUT,
	HT_AT_OUTPUT,
	HT_AT_BLOCK,
	HT_AT_INTERLOCK,
	HT_AT_RECORD,
	HT_AT_PARAM,
	HT_PLACES
};

struct ht_error {
	ht_u32 code;		/* enum ht_error_code */
	ht_u32 where;		/* enum ht_error_where */
	ht_u32 index;		/* which signal, block, ...; AT_PARAM: place in the batch */
	ht_u32 item;		/* which field or port of it; AT_PARAM: the parameter */
	ht_u64 value;		/* bits of the offending double, or a count */
};

/* Places of the sections of a checked image. */
struct ht_image {
	const struct ht_image_header *header;
	const struct ht_image_signal *signals;
	const struct ht_image_input *inputs;
	const struct ht_image_output *outputs;
	const struct ht_image_block *blocks;
	const struct ht_image_interlock *interlocks;
	const double *params;
	const double *data;
	const ht_u32 *wires;
	const ht_u32 *records;
	const char *text;
};

/* Bytes of an image with the counts of this header, 0 if they are absurd. */
ht_u64 ht_image_bytes(const struct ht_image_header *header);

/* Finds the sections of an image whose size has been checked. */
void ht_image_open(struct ht_image *image, const void *bytes);

/* CRC-32 (IEEE 802.3) of some bytes, going on from crc; begin with 0. */
ht_u32 ht_crc32(ht_u32 crc, const void *bytes, ht_u64 size);

/* CRC of an image as its header must state it; size is at least a header. */
ht_u32 ht_image_crc(const void *bytes, ht_u32 size);

/*
 * Checks the image in every respect but its CRC and the values of block
 * parameters, which ht_program_init() checks. Returns HT_OK or the code also
 * left in *error. FP (see program.h).
 */
int ht_image_check_structure(const void *bytes, ht_u64 size, struct ht_error *error);

/* The same with the CRC. */
int ht_image_check(const void *bytes, ht_u64 size, struct ht_error *error);

/* Fills *error and returns the code. */
int ht_refuse(struct ht_error *error, ht_u32 code, ht_u32 where, ht_u32 index,
	      ht_u32 item, ht_u64 value);

const char *ht_error_text(ht_u32 code);
const char *ht_error_place(ht_u32 where);

#endif
