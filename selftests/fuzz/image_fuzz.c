// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the validator of program images and what runs behind it (libFuzzer).
 *
 * The input is an image and, behind it, bytes that drive the run: measured
 * inputs, vitals and parameter batches of a loop; codes and faults of a rig. It
 * is checked as it is, and once more with size and CRC put right, because no
 * mutation would ever get past them. What must hold: no fault of memory or
 * arithmetic, a refused batch changes nothing, the outputs of a loop are always
 * finite and within their limits, and the codes of a rig exist.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kmod/core/fpenv.h"
#include "../../kmod/core/loop.h"
#include "../../kmod/core/rig.h"

#define MAX_LOOP (16u << 20)
#define N_TICKS 48
#define MAX_BATCH 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* The bytes behind the image, zeros at their end. */
struct tail {
	const uint8_t *at;
	size_t left;
};

static void take(struct tail *tail, void *to, size_t size)
{
	size_t n = size < tail->left ? size : tail->left;

	memset(to, 0, size);
	memcpy(to, tail->at, n);
	tail->at += n;
	tail->left -= n;
}

static void stage_batch(struct ht_loop *loop, const struct ht_image *image, struct tail *tail)
{
	struct ht_program *program = ht_loop_program(loop);
	const uint32_t n_params = image->header->n_params;
	struct ht_change changes[MAX_BATCH];
	const double *params = ht_program_params(program);
	struct ht_param_place place;
	struct ht_error error;
	uint8_t count, i;

	take(tail, &count, sizeof(count));
	count %= MAX_BATCH + 1;
	for (i = 0; i < count; i++) {
		take(tail, &changes[i], sizeof(changes[i]));
		/* Mostly parameters that exist, and one that does not. */
		if (changes[i].param & 0x80000000)
			changes[i].param %= n_params + 1;
		if (changes[i].reserved & 1)
			changes[i].reserved = 0;
		if (changes[i].param < n_params)
			require(ht_param_place(image->header, changes[i].param, &place) == HT_OK &&
				place.element < place.count, "every parameter has a place");
	}
	if (ht_program_stage(program, changes, count, &error) == HT_OK) {
		ht_program_commit(program);
		for (i = 0; i < count; i++)
			require(isfinite(ht_program_params(program)[changes[i].param]),
				"parameters are finite");
	} else {
		require(ht_program_params(program) == params, "a refused batch changes nothing");
	}
}

static void check_outputs(const struct ht_loop *loop, const struct ht_image *image)
{
	const double *out = ht_loop_outputs(loop);
	uint32_t i;

	for (i = 0; i < image->header->n_outputs; i++)
		require(out[i] >= image->outputs[i].min && out[i] <= image->outputs[i].max,
			"outputs are within their limits");
}

static void run(struct ht_loop *loop, const struct ht_image *image, struct tail *tail)
{
	const struct ht_image_header *h = image->header;
	double *record = calloc(h->n_records + h->n_outputs + 1, sizeof(*record));
	double *inputs = calloc(h->n_inputs + 1, sizeof(*inputs));
	struct ht_lock_view view, *views = calloc(h->n_interlocks + 1, sizeof(*views));
	struct ht_vitals vitals = { 0 };
	uint64_t tick = 0, k;
	uint32_t i;
	uint8_t what;

	if (views)
		require(ht_loop_check_health(loop, NULL, &vitals, views) <= h->n_interlocks,
			"no more locks are ill than there are");
	free(views);
	ht_loop_arm(loop);
	for (k = 0; record && inputs && k < N_TICKS; k++, tick++) {
		take(tail, &what, sizeof(what));
		if (what & 1)
			stage_batch(loop, image, tail);
		if (what & 2) {
			take(tail, inputs, (h->n_inputs < 4 ? h->n_inputs : 4) * sizeof(double));
			ht_loop_inputs(loop, inputs);
		}
		if ((what & 0xe0) == 0x40) {
			take(tail, &vitals, sizeof(vitals));
			ht_loop_vitals(loop, &vitals);
		}
		if (ht_loop_ready(loop) && (what & 0xf0) != 0x30)
			ht_loop_start(loop);
		if ((what & 0xf0) == 0xf0) {
			take(tail, &tick, sizeof(tick));
			tick >>= 2;
		}
		if ((what & 0xfc) == 0x84)
			ht_loop_stop(loop);
		if ((what & 0xfc) == 0x88)
			ht_loop_trip(loop, &(struct ht_trip){
				.cause = HT_CAUSE_OPERATOR,
				.action = what % HT_ACTIONS,
			});
		ht_loop_tick(loop, tick, record);
		check_outputs(loop, image);
		for (i = 0; i < h->n_interlocks; i++)
			ht_loop_lock(loop, i, &view);
		if (ht_loop_mode(loop) != HT_MODE_TRIPPED)
			continue;
		if (what & 4)
			ht_loop_release(loop);
		if (ht_loop_safe(loop) && (what & 8))
			ht_loop_start(loop);
	}
	free(record);
	free(inputs);
}

static void check_codes(struct ht_rig *rig, const struct ht_image *image)
{
	struct ht_converter c;
	uint32_t i;

	for (i = 0; i < image->header->n_outputs; i++) {
		const ht_s64 code = ht_rig_read(rig, i);

		ht_rig_converter(&image->outputs[i].channel, &c);
		require(code >= c.low_code && code <= c.high_code, "codes of ADCs exist");
	}
	for (i = 0; i < image->header->n_inputs; i++) {
		ht_rig_converter(&image->inputs[i].channel, &c);
		require(ht_rig_written(rig, i) >= c.low_code &&
			ht_rig_written(rig, i) <= c.high_code, "codes of DACs exist");
	}
	ht_rig_end_scan(rig);
}

static void run_rig(struct ht_rig *rig, const struct ht_image *image, struct tail *tail)
{
	const struct ht_image_header *h = image->header;
	uint64_t step = 0, k;
	uint8_t what, steps;
	double value;
	int64_t code;

	for (k = 0; k < N_TICKS; k++) {
		take(tail, &what, sizeof(what));
		if ((what & 1) && h->n_inputs) {
			take(tail, &code, sizeof(code));
			ht_rig_write(rig, what / 2 % h->n_inputs, code);
		}
		if ((what & 0xe0) == 0xe0) {
			take(tail, &value, sizeof(value));
			if (isfinite(value))
				ht_rig_fault(rig, what % HT_FAULTS, what / 8 % 4, &value);
		}
		if (what == 0x80)
			ht_rig_reset(rig);
		take(tail, &steps, sizeof(steps));
		step += steps % 4;
		require(ht_rig_advance(rig, step, 4) == 0, "a rig keeps up");
		check_codes(rig, image);
	}
}

/* The image is checked. */
static void load_rig(const uint8_t *image_bytes, struct tail *tail)
{
	const uint64_t bytes = ht_rig_bytes(image_bytes);
	struct ht_image image;
	struct ht_error error;
	struct ht_rig *rig;

	if (bytes > MAX_LOOP)
		return;
	rig = calloc(1, bytes);
	if (!rig)
		return;
	ht_image_open(&image, image_bytes);
	if (ht_rig_init(rig, image_bytes, &error) == HT_OK)
		run_rig(rig, &image, tail);
	free(rig);
}

static void load(const uint8_t *image_bytes, size_t size, struct tail *tail)
{
	struct ht_image image;
	struct ht_error error;
	struct ht_loop *loop;
	uint64_t bytes;

	if (ht_image_check(image_bytes, size, &error) != HT_OK) {
		require(error.code > HT_OK && error.code < HT_ERRORS && error.where < HT_PLACES &&
			*ht_error_text(error.code) && *ht_error_place(error.where),
			"a refusal has a reason");
		return;
	}
	if (((const struct ht_image_header *)image_bytes)->kind == HT_IMAGE_RIG) {
		load_rig(image_bytes, tail);
		return;
	}
	bytes = ht_loop_bytes(image_bytes);
	if (bytes > MAX_LOOP)
		return;
	loop = calloc(1, bytes);
	if (!loop)
		return;
	ht_image_open(&image, image_bytes);
	if (ht_loop_init(loop, image_bytes, &error) == HT_OK)
		run(loop, &image, tail);
	free(loop);
}

/* Where the image ends in the input. */
static size_t image_size(const uint8_t *data, size_t size)
{
	struct ht_image_header h;
	uint64_t bytes;

	if (size < sizeof(h))
		return size;
	memcpy(&h, data, sizeof(h));
	bytes = ht_image_bytes(&h);
	return bytes && bytes < size ? bytes : size;
}

/* A copy of its own, so that reading beyond its end is seen. */
static void load_copy(const uint8_t *data, size_t size, int repair, struct tail tail)
{
	struct ht_image_header *h = malloc(size + !size);

	if (!h)
		return;
	memcpy(h, data, size);
	if (repair && size >= sizeof(*h)) {
		h->magic = HT_IMAGE_MAGIC;
		h->version = HT_IMAGE_VERSION;
		h->size = size;
		h->crc = ht_image_crc(h, size);
	}
	load((const uint8_t *)h, size, &tail);
	free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t end = image_size(data, size);
	const struct tail tail = { .at = data + end, .left = size - end };
	const struct tail nothing = { .at = data, .left = 0 };
	const ht_u32 environment = ht_fpenv_enter();

	load_copy(data, size, 0, nothing);
	load_copy(data, end, 1, tail);
	ht_fpenv_leave(environment);
	return 0;
}

static const double odd_values[] = {
	0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, 1e3, 1e15, -1e15, 1e16, 1e308, -1e308, 5e-324,
	2.2250738585072014e-308, 4294967295.0, 4294967296.0, 9007199254740993.0, 1e-9, 1e6, 16,
};

static const uint32_t odd_counts[] = {
	0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 63, 64, 127, 128, 255, 256, 1023, 1024, 4095, 4096,
	65535, 65536, 0x3ffffff, 0x4000000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
};

/* Puts something odd into a place that means something. */
static void poke(uint8_t *data, size_t size, unsigned int random)
{
	const uint32_t count = odd_counts[random / 7 % HT_COUNT(odd_counts)];
	union ht_real value = { .value = odd_values[random / 11 % HT_COUNT(odd_values)] };
	struct ht_image image;
	struct ht_image_header h;
	size_t at;

	memcpy(&h, data, sizeof(h));
	if (ht_image_bytes(&h) == 0 || ht_image_bytes(&h) > size)
		return;
	/* Places only: nothing is read through them. */
	ht_image_open(&image, data);
	switch (random % 8) {
	case 0:
		at = random / 3 % (sizeof(h) / 4) * 4;
		memcpy(data + at, &count, sizeof(count));
		break;
	case 1:
		if (!h.n_blocks)
			break;
		at = (const uint8_t *)&image.blocks[random / 3 % h.n_blocks] - data;
		at += random / 5 % 8 * sizeof(uint32_t);
		memcpy(data + at, &count, sizeof(count));
		break;
	case 2:
	case 3:
		if (!h.n_params)
			break;
		at = (const uint8_t *)&image.params[random / 3 % h.n_params] - data;
		memcpy(data + at, &value, sizeof(value));
		break;
	case 4:
		if (!h.n_wires)
			break;
		at = (const uint8_t *)&image.wires[random / 3 % h.n_wires] - data;
		memcpy(data + at, &(uint32_t){ count % (h.n_signals + 1) }, sizeof(count));
		break;
	case 5:
		if (!h.n_outputs)
			break;
		at = (const uint8_t *)&image.outputs[random / 3 % h.n_outputs] - data;
		memcpy(data + at + 8 + random / 5 % 5 * 8, &value, sizeof(value));
		break;
	case 6:
		if (random & 0x20000 ? !h.n_inputs : !h.n_outputs)
			break;
		if (random & 0x20000)
			at = (const uint8_t *)&image.inputs[random / 3 % h.n_inputs].channel - data;
		else
			at = (const uint8_t *)&image.outputs[random / 3 % h.n_outputs].channel -
			     data;
		if (random & 0x10000)
			memcpy(data + at + random / 5 % 4 * 4, &count, sizeof(count));
		else
			memcpy(data + at + offsetof(struct ht_image_channel, gain) +
			       random / 5 % 3 * 8, &value, sizeof(value));
		break;
	default:
		if (!h.n_interlocks)
			break;
		at = (const uint8_t *)&image.interlocks[random / 3 % h.n_interlocks] - data;
		if (random & 0x10000)
			memcpy(data + at + random / 5 % 8 * 4, &count, sizeof(count));
		else
			memcpy(data + at + offsetof(struct ht_image_interlock, low) +
			       random / 5 % 2 * 8, &value, sizeof(value));
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t end;

	if (size < sizeof(struct ht_image_header))
		return LLVMFuzzerMutate(data, size, max_size);
	switch (seed % 4) {
	case 0:
		return LLVMFuzzerMutate(data, size, max_size);
	case 1:		/* the run only */
		end = image_size(data, size);
		return end + LLVMFuzzerMutate(data + end, size - end, max_size - end);
	default:
		poke(data, size, seed / 4);
		if (seed % 4 == 3)
			poke(data, size, seed * 2654435761u / 4);
		return size;
	}
}
