// SPDX-License-Identifier: GPL-2.0
/*
 * Sim backend: a loop in this process, in virtual time.
 *
 * It runs the same core as the module and answers the same requests with the
 * same errors. Time passes only in wait(): as fast as the program can be
 * stepped, or paced by the real clock. No tick is ever late, no scan is lost.
 *
 * Rigs (sim_bench.c) stand in for IIO devices. As with the module, a loop that is
 * bound to one ticks while it is armed, and a tick has the sample of the tick
 * before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../kmod/core/fpenv.h"
#include "../kmod/core/loop.h"
#include "backend.h"
#include "histogram.h"
#include "sim_bench.h"

#define SIM_PAGE	4096
#define SIM_EVENTS	1024	/* a power of two */
#define MAX_DRY_TICKS	100000
#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull

_Static_assert(sizeof(struct hytest_status) <= SIM_PAGE, "the status fits its page");
_Static_assert(sizeof(struct hytest_change) == sizeof(struct ht_change), "one layout");

/* What is asked of the next tick. */
struct request {
	bool stop;
	bool trip;
	bool release_hold;
	bool batch;
	uint32_t batch_number;
	uint64_t batch_tick;
	struct ht_trip trip_cause;
};

/* A loaded program. */
struct program {
	void *image;
	size_t image_bytes;
	struct ht_loop *core;
	size_t core_bytes;
	unsigned char *mapping;		/* status page and ring */
	size_t mapping_size;
	double *values;			/* of one record */
	struct ht_lock_view *views;	/* of the interlocks when ARM refused */
	uint32_t record_size;
};

struct sim {
	struct hytest_loop loop;
	struct program program;		/* mapping is there in any case */
	struct hytest_status *status;	/* in the mapping */
	struct request request;
	struct sim_bench bench;
	bool has_refused;		/* and nothing has changed since */
	bool controlled;
	bool ticking;
	bool told_safe;
	uint32_t batches;
	uint32_t post_trip;
	uint64_t tick;
	uint64_t due_ns;
	uint64_t now_ns;		/* virtual */
	uint64_t last_heartbeat_ns;
	bool paced;
	uint64_t real_offset_ns;	/* CLOCK_MONOTONIC at virtual time 0 */
	uint64_t event_head;
	uint64_t event_read;
	struct hytest_event events[SIM_EVENTS];
};

static struct sim *sim_of(struct hytest_loop *loop)
{
	return (struct sim *)loop;
}

static const struct ht_image_header *header_of(const struct sim *sim)
{
	return sim->program.image;
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void add_event(struct sim *sim, uint32_t type, uint32_t index, uint64_t value,
		      uint64_t limit)
{
	sim->events[sim->event_head % SIM_EVENTS] = (struct hytest_event){
		.sequence = sim->event_head + 1,
		.tick = sim->tick,
		.time_ns = sim->now_ns,
		.type = type,
		.index = index,
		.value = value,
		.limit = limit,
	};
	sim->event_head++;
}

static void free_program(struct program *program)
{
	free(program->image);
	free(program->core);
	free(program->mapping);
	free(program->values);
	free(program->views);
	*program = (struct program){ 0 };
}

static void clear_run(struct sim *sim)
{
	struct hytest_status *status = sim->status;

	sim->request = (struct request){ 0 };
	sim->told_safe = false;
	sim->batches = 0;
	sim->tick = 0;
	status->head = 0;
	status->tick = 0;
	status->missed = 0;
	status->overruns = 0;
	status->batch = 0;
	status->lost_scans = 0;
	status->failed_writes = 0;
	status->safe = 1;
	status->trip = (struct hytest_trip){ 0 };
	hytest_histogram_clear(&status->lateness);
	hytest_histogram_clear(&status->step);
}

/* Puts a program, or none, in place of the one before. */
static void exchange(struct sim *sim, const struct program *program)
{
	const struct hytest_status old = *sim->status;
	const struct ht_image_header *h = program->image;

	free_program(&sim->program);
	sim->program = *program;
	sim->has_refused = false;
	sim->status = (struct hytest_status *)program->mapping;
	sim->loop.status = sim->status;
	sim->loop.mapping = h ? program->mapping : NULL;
	sim->loop.mapping_size = h ? program->mapping_size : 0;
	*sim->status = (struct hytest_status){
		.version = HYTEST_UAPI_VERSION,
		.state = h ? HYTEST_LOADED : HYTEST_EMPTY,
		.program = old.program + 1,
		.record_size = program->record_size,
		.ring_records = h ? h->ring_records : 0,
		.ring_offset = SIM_PAGE,
		.mapping_size = program->mapping_size,
		.period_ns = h ? h->period_ns : 0,
		.owner = old.owner,
		.budget_ns = h ? h->budget_ns : 0,
	};
	clear_run(sim);
	add_event(sim, h ? HYTEST_EVENT_LOADED : HYTEST_EVENT_UNLOADED, 0, 0, 0);
}

static int refuse(struct hytest_refusal *refusal, const struct ht_error *error)
{
	*refusal = (struct hytest_refusal){
		.code = error->code,
		.where = error->where,
		.index = error->index,
		.item = error->item,
		.value = error->value,
	};
	return -EINVAL;
}

static int build_program(struct program *program, struct hytest_load *load)
{
	const struct ht_image_header *h = program->image;
	struct ht_error error = { 0 };

	if (ht_image_check(program->image, program->image_bytes, &error))
		return refuse(&load->refusal, &error);
	if (h->kind != HT_IMAGE_LOOP) {
		ht_refuse(&error, HT_ERR_KIND, HT_AT_IMAGE, 0, 0, h->kind);
		return refuse(&load->refusal, &error);
	}
	program->record_size = sizeof(struct hytest_record) +
			       (h->n_records + h->n_outputs) * sizeof(uint64_t);
	program->mapping_size = SIM_PAGE + (size_t)h->ring_records * program->record_size;
	program->core_bytes = ht_loop_bytes(program->image);
	load->needed_bytes = program->image_bytes + program->core_bytes + program->mapping_size;
	program->mapping = calloc(1, program->mapping_size);
	program->core = calloc(1, program->core_bytes);
	program->values = calloc(h->n_records + h->n_outputs + 1, sizeof(double));
	program->views = calloc(h->n_interlocks + 1, sizeof(*program->views));
	if (!program->mapping || !program->core || !program->values || !program->views)
		return -ENOMEM;
	if (ht_loop_init(program->core, program->image, &error))
		return refuse(&load->refusal, &error);
	return 0;
}

static int sim_load(struct sim *sim, void *argument)
{
	struct hytest_load *load = argument;
	struct program program = { .image_bytes = load->size };
	int result;

	if (sim->status->state != HYTEST_EMPTY && sim->status->state != HYTEST_LOADED)
		return -EBUSY;
	load->refusal = (struct hytest_refusal){ 0 };
	program.image = malloc(load->size ? load->size : 1);
	if (!program.image)
		return -ENOMEM;
	memcpy(program.image, (const void *)(uintptr_t)load->image, load->size);
	result = build_program(&program, load);
	if (result) {
		free_program(&program);
		return result;
	}
	exchange(sim, &program);
	return 0;
}

static int sim_unload(struct sim *sim, void *argument)
{
	struct program none = { .mapping_size = SIM_PAGE };

	(void)argument;
	if (sim->status->state != HYTEST_LOADED)
		return sim->status->state == HYTEST_EMPTY ? -ENODATA : -EBUSY;
	none.mapping = calloc(1, SIM_PAGE);
	if (!none.mapping)
		return -ENOMEM;
	exchange(sim, &none);
	return 0;
}

static int sim_info(struct sim *sim, void *argument)
{
	struct hytest_info *info = argument;

	*info = (struct hytest_info){
		.version = HYTEST_UAPI_VERSION,
		.image_version = HT_IMAGE_VERSION,
		.state = sim->status->state,
		.max_image_bytes = UINT32_MAX,
		.max_loop_bytes = INT64_MAX,
		.loop_bytes = sim->program.image ? sim->program.image_bytes +
			      sim->program.core_bytes + sim->program.mapping_size : 0,
		.image_bytes = sim->program.image_bytes,
		.controlled = sim->controlled,
		.block_types = ht_n_block_types,
	};
	return 0;
}

static int sim_image(struct sim *sim, void *argument)
{
	struct hytest_image *image = argument;
	const uint64_t room = image->size;

	if (!sim->program.image)
		return -ENODATA;
	image->size = sim->program.image_bytes;
	if (room < image->size)
		return -ENOSPC;
	memcpy((void *)(uintptr_t)image->buffer, sim->program.image, image->size);
	return 0;
}

static int sim_params(struct sim *sim, void *argument)
{
	const struct hytest_params *params = argument;
	const struct ht_image_header *h = header_of(sim);
	const double *values;

	if (!h)
		return -ENODATA;
	if (params->first > h->n_params || params->count > h->n_params - params->first)
		return -EINVAL;
	values = ht_program_params(ht_loop_program(sim->program.core));
	memcpy((void *)(uintptr_t)params->values, values + params->first,
	       params->count * sizeof(*values));
	return 0;
}

static int sim_lock(struct sim *sim, void *argument)
{
	struct hytest_lock *lock = argument;
	const struct ht_image_header *h = header_of(sim);
	struct ht_lock_view view;

	if (!h)
		return -ENODATA;
	if (lock->reserved || lock->interlock >= h->n_interlocks)
		return -EINVAL;
	if (sim->has_refused)
		view = sim->program.views[lock->interlock];
	else
		ht_loop_lock(sim->program.core, lock->interlock, &view);
	lock->healthy = view.healthy;
	lock->violated_ticks = view.violated_ticks;
	lock->value = view.value;
	lock->limit = view.limit;
	return 0;
}

static void note_binding(struct sim *sim)
{
	sim->status->bound_inputs = sim->bench.bound_inputs;
	sim->status->bound_outputs = sim->bench.bound_outputs;
}

/* The last tick is over. */
static void unbind(struct sim *sim)
{
	const bool was_bound = sim_bench_bound(&sim->bench);

	sim->ticking = false;
	sim_bench_unbind(&sim->bench);
	note_binding(sim);
	if (was_bound)
		add_event(sim, HYTEST_EVENT_UNBOUND, 0, 0, 0);
}

/* An armed loop has safe outputs: there is no need to wait for a tick. */
static void trip_at_rest(struct sim *sim, uint32_t cause)
{
	sim->status->state = HYTEST_TRIPPED;
	sim->status->trip = (struct hytest_trip){
		.cause = cause,
		.time_ns = sim->now_ns,
	};
	add_event(sim, HYTEST_EVENT_TRIPPED, cause << 16, 0, 0);
	add_event(sim, HYTEST_EVENT_SAFE, 0, 0, 0);
	unbind(sim);
}

static void ask_trip(struct sim *sim, uint32_t cause)
{
	const uint32_t state = sim->status->state;

	if (state == HYTEST_ARMED)
		trip_at_rest(sim, cause);
	/* Held outputs wait for a person; the owner's end changes nothing. */
	if (!sim->ticking || sim->request.trip ||
	    (state == HYTEST_TRIPPED && cause == HT_CAUSE_OWNER))
		return;
	sim->request.trip_cause = (struct ht_trip){ .cause = cause, .action = HT_ACTION_RAMP };
	sim->request.trip = true;
}

static int sim_trip(struct sim *sim, void *argument)
{
	(void)argument;
	ask_trip(sim, HT_CAUSE_OPERATOR);
	return 0;
}

static int sim_control(struct sim *sim, void *argument)
{
	(void)argument;
	if (sim->controlled)
		return 0;
	sim->controlled = true;
	sim->status->owner = getpid();
	add_event(sim, HYTEST_EVENT_CONTROL_TAKEN, sim->status->owner, 0, 0);
	return 0;
}

static int sim_release(struct sim *sim, void *argument)
{
	(void)argument;
	ask_trip(sim, HT_CAUSE_OWNER);
	add_event(sim, HYTEST_EVENT_CONTROL_LEFT, sim->status->owner, 0, 0);
	sim->status->owner = 0;
	sim->controlled = false;
	return 0;
}

static void rest_in(struct sim *sim, uint32_t state, uint32_t event)
{
	sim->status->state = state;
	add_event(sim, event, 0, 0, 0);
}

/* Measures for information; virtual time has no budget that could be exceeded. */
static uint32_t measure(struct sim *sim, uint32_t ticks)
{
	uint64_t begin, took, worst = 0;
	uint32_t i;

	for (i = 0; i < ticks; i++) {
		begin = real_ns();
		ht_loop_dry_tick(sim->program.core, i);
		took = real_ns() - begin;
		if (took > worst)
			worst = took;
	}
	ht_loop_rest(sim->program.core);
	return worst < UINT32_MAX ? worst : UINT32_MAX;
}

/* A first tick of the grid, with one before it: steps of rigs fall on them. */
static uint64_t first_tick(const struct sim *sim)
{
	const uint64_t period_ns = header_of(sim)->period_ns;

	return ((sim->now_ns + period_ns - 1) / period_ns + 1) * period_ns;
}

static int bind_channels(struct sim *sim, struct hytest_arm *arm)
{
	int result = sim_bench_bind(&sim->bench, sim->program.image, sim->now_ns, arm);

	if (result || !sim_bench_bound(&sim->bench))
		return result;
	note_binding(sim);
	add_event(sim, HYTEST_EVENT_BOUND, 0, sim_bench_bound(&sim->bench), 0);
	return 0;
}

static int check_health(struct sim *sim, struct hytest_arm *arm)
{
	const struct ht_lock_view *views = sim->program.views;
	const struct ht_vitals vitals = { 0 };
	uint32_t i;

	if (!ht_loop_check_health(sim->program.core, sim->bench.values, &vitals,
				  sim->program.views))
		return 0;
	for (i = header_of(sim)->n_interlocks; i-- > 0;) {
		if (views[i].healthy)
			continue;
		arm->interlock = i;
		arm->unhealthy[i / 64] |= 1ull << i % 64;
	}
	sim->has_refused = true;
	return -EPERM;
}

static int sim_arm(struct sim *sim, void *argument)
{
	const struct ht_image_header *h = header_of(sim);
	struct hytest_arm *arm = argument;
	int result;

	if (sim->status->state == HYTEST_EMPTY)
		return -ENODATA;
	if (sim->status->state != HYTEST_LOADED)
		return -EBUSY;
	if (!arm->dry_ticks || arm->dry_ticks > MAX_DRY_TICKS)
		return -EINVAL;
	*arm = (struct hytest_arm){
		.cpu = arm->cpu,
		.dry_ticks = arm->dry_ticks,
		.worst_ns = measure(sim, arm->dry_ticks),
		.budget_ns = h->budget_ns,
	};
	sim->status->dry_worst_ns = arm->worst_ns;
	sim->has_refused = false;
	result = bind_channels(sim, arm);
	if (!result)
		result = check_health(sim, arm);
	if (result) {
		unbind(sim);
		return result;
	}
	ht_loop_arm(sim->program.core);
	sim->tick = 0;
	sim->due_ns = first_tick(sim);
	sim->ticking = sim_bench_bound(&sim->bench);
	sim->told_safe = false;
	sim->status->cpu = arm->cpu;
	rest_in(sim, HYTEST_ARMED, HYTEST_EVENT_ARMED);
	return 0;
}

static int sim_disarm(struct sim *sim, void *argument)
{
	(void)argument;
	if (sim->status->state != HYTEST_ARMED)
		return -EBUSY;
	ht_loop_rest(sim->program.core);
	rest_in(sim, HYTEST_LOADED, HYTEST_EVENT_DISARMED);
	unbind(sim);
	return 0;
}

static int sim_start(struct sim *sim, void *argument)
{
	(void)argument;
	if (sim->status->state != HYTEST_ARMED)
		return -EBUSY;
	if (!ht_loop_ready(sim->program.core))
		return -EPERM;
	ht_loop_start(sim->program.core);
	clear_run(sim);
	sim->last_heartbeat_ns = sim->now_ns;
	sim->due_ns = first_tick(sim);
	sim_bench_sample(&sim->bench, sim->due_ns - header_of(sim)->period_ns);
	sim->status->start_ns = sim->due_ns;
	sim->ticking = true;
	sim->status->state = HYTEST_RUNNING;
	add_event(sim, HYTEST_EVENT_STARTED, sim->status->cpu, 0, 0);
	return 0;
}

static int sim_stop(struct sim *sim, void *argument)
{
	(void)argument;
	if (sim->status->state == HYTEST_RUNNING)
		sim->request.stop = true;
	else if (sim->status->state != HYTEST_STOPPING)
		return -EBUSY;
	return 0;
}

static int sim_acknowledge(struct sim *sim, void *argument)
{
	(void)argument;
	if (sim->status->state != HYTEST_TRIPPED)
		return -ENODATA;
	if (sim->ticking) {
		/* Outputs that were held go to safe once the operator knows. */
		sim->request.release_hold = true;
		return -EBUSY;
	}
	ht_loop_rest(sim->program.core);
	rest_in(sim, HYTEST_LOADED, HYTEST_EVENT_ACKNOWLEDGED);
	return 0;
}

static int sim_batch(struct sim *sim, void *argument)
{
	struct hytest_batch *batch = argument;
	struct ht_error error = { 0 };
	struct ht_program *program;

	batch->refusal = (struct hytest_refusal){ 0 };
	if (sim->status->state == HYTEST_EMPTY)
		return -ENODATA;
	if (sim->status->state == HYTEST_TRIPPED || sim->request.batch)
		return -EBUSY;
	if (!batch->count || batch->count > HYTEST_MAX_CHANGES)
		return -EINVAL;
	program = ht_loop_program(sim->program.core);
	if (ht_program_stage(program, (const struct ht_change *)(uintptr_t)batch->changes,
			     batch->count, &error))
		return refuse(&batch->refusal, &error);
	batch->number = 0;
	if (sim->status->state == HYTEST_LOADED || sim->status->state == HYTEST_ARMED) {
		sim->has_refused = false;
		ht_program_commit(program);
		return 0;
	}
	batch->number = ++sim->batches;
	sim->request.batch = true;
	sim->request.batch_number = batch->number;
	sim->request.batch_tick = batch->tick;
	return 0;
}

static int sim_heartbeat(struct sim *sim, void *argument)
{
	(void)argument;
	sim->last_heartbeat_ns = sim->now_ns;
	return 0;
}

static int sim_rewind(struct sim *sim, void *argument)
{
	(void)argument;
	sim->event_read = 0;
	return 0;
}

static const struct {
	unsigned long request;
	int (*answer)(struct sim *sim, void *argument);
} answers[] = {
	{ HYTEST_IOC_INFO, sim_info },
	{ HYTEST_IOC_IMAGE, sim_image },
	{ HYTEST_IOC_GET_PARAMS, sim_params },
	{ HYTEST_IOC_GET_LOCK, sim_lock },
	{ HYTEST_IOC_REWIND, sim_rewind },
	{ HYTEST_IOC_TRIP, sim_trip },
	{ HYTEST_IOC_CONTROL, sim_control },
	{ HYTEST_IOC_RELEASE, sim_release },
	{ HYTEST_IOC_LOAD, sim_load },
	{ HYTEST_IOC_UNLOAD, sim_unload },
	{ HYTEST_IOC_ARM, sim_arm },
	{ HYTEST_IOC_DISARM, sim_disarm },
	{ HYTEST_IOC_START, sim_start },
	{ HYTEST_IOC_STOP, sim_stop },
	{ HYTEST_IOC_ACK, sim_acknowledge },
	{ HYTEST_IOC_BATCH, sim_batch },
	{ HYTEST_IOC_HEARTBEAT, sim_heartbeat },
};

static int sim_call(struct hytest_loop *loop, unsigned long request, void *argument)
{
	struct sim *sim = sim_of(loop);
	ht_u32 environment;
	int result;
	size_t i;

	/* As in the module: from 0x20 on only for the owner. */
	if (_IOC_NR(request) >= 0x20 && !sim->controlled)
		return -EPERM;
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (answers[i].request != request)
			continue;
		environment = ht_fpenv_enter();
		result = answers[i].answer(sim, argument);
		ht_fpenv_leave(environment);
		return result;
	}
	return -ENOTTY;
}

static int sim_map(struct hytest_loop *loop)
{
	(void)loop;	/* it always is */
	return 0;
}

/* Before the step, in the order of the module. */
static void take_requests(struct sim *sim)
{
	const struct ht_image_header *h = header_of(sim);
	const uint64_t silence = sim->now_ns - sim->last_heartbeat_ns;
	struct request *request = &sim->request;

	if (h->heartbeat_ms && silence > h->heartbeat_ms * NS_PER_MS && !request->trip &&
	    sim->status->state != HYTEST_ARMED && sim->status->state != HYTEST_TRIPPED) {
		request->trip = true;
		request->trip_cause = (struct ht_trip){
			.cause = HT_CAUSE_HEARTBEAT,
			.action = HT_ACTION_RAMP,
			.value = ht_bits_of_count(silence / NS_PER_MS),
			.limit = ht_bits_of_count(h->heartbeat_ms),
		};
	}
	if (request->batch && sim->tick >= request->batch_tick) {
		request->batch = false;
		ht_program_commit(ht_loop_program(sim->program.core));
		sim->status->batch = request->batch_number;
		add_event(sim, HYTEST_EVENT_BATCH, request->batch_number, 0, 0);
	}
	if (request->stop)
		ht_loop_stop(sim->program.core);
	if (request->release_hold) {
		ht_loop_release(sim->program.core);
		/* Acknowledged and safe: no need for more records. */
		if (sim->status->state == HYTEST_TRIPPED && sim->status->safe)
			sim->post_trip = 0;
	}
	if (request->trip)
		ht_loop_trip(sim->program.core, &request->trip_cause);
	request->stop = false;
	request->release_hold = false;
	request->trip = false;
}

static void note_trip(struct sim *sim)
{
	const struct ht_trip *trip = ht_loop_first_trip(sim->program.core);
	const bool armed = sim->status->state == HYTEST_ARMED;

	sim->status->state = HYTEST_TRIPPED;
	sim->status->trip = (struct hytest_trip){
		.cause = trip->cause,
		.index = trip->index,
		.tick = sim->tick,
		.time_ns = sim->due_ns,
		.value = trip->value,
		.limit = trip->limit,
	};
	sim->request.batch = false;
	/* Nothing has moved before START: there is nothing to record. */
	sim->post_trip = armed ? 0 : header_of(sim)->post_trip_ticks;
	add_event(sim, HYTEST_EVENT_TRIPPED, trip->cause << 16 | trip->index, trip->value,
		  trip->limit);
}

/* After the step: whether this was the last tick of a soft stop. */
static bool follow_stop(struct sim *sim)
{
	if (sim->status->state == HYTEST_RUNNING)
		rest_in(sim, HYTEST_STOPPING, HYTEST_EVENT_STOPPING);
	if (!sim->status->safe)
		return false;
	sim->request.batch = false;
	rest_in(sim, HYTEST_LOADED, HYTEST_EVENT_STOPPED);
	return true;
}

/* After the step: whether this was the last tick after a trip. */
static bool follow_trip(struct sim *sim)
{
	if (sim->status->state != HYTEST_TRIPPED)
		note_trip(sim);
	if (!sim->status->safe)
		return false;
	if (!sim->told_safe)
		add_event(sim, HYTEST_EVENT_SAFE, 0, 0, 0);
	sim->told_safe = true;
	return !sim->post_trip--;
}

static bool follow_core(struct sim *sim)
{
	sim->status->safe = ht_loop_safe(sim->program.core);
	switch (ht_loop_mode(sim->program.core)) {
	case HT_MODE_STOPPING:
		return follow_stop(sim);
	case HT_MODE_TRIPPED:
		return follow_trip(sim);
	default:
		return false;
	}
}

static void write_record(struct sim *sim, uint64_t step_ns)
{
	struct hytest_status *status = sim->status;
	const uint64_t slot = status->head & (status->ring_records - 1);
	struct hytest_record *record = (struct hytest_record *)
		(sim->program.mapping + SIM_PAGE + slot * status->record_size);

	record->tick = sim->tick;
	record->time_ns = sim->due_ns;
	record->lateness_ns = 0;
	record->step_ns = step_ns < UINT32_MAX ? step_ns : UINT32_MAX;
	record->batch = status->batch;
	record->missed = 0;
	/* The tick that ends a soft stop still belongs to it. */
	record->state = status->state == HYTEST_LOADED ? HYTEST_STOPPING : status->state;
	record->cause = ht_loop_first_trip(sim->program.core)->cause;
	record->scan_age = 0;
	record->write_age = 0;
	memcpy(record->value, sim->program.values, status->record_size - sizeof(*record));
	record->sequence = status->head + 1;
}

/* From the sample of the tick before to the sample of this one; ns that it took. */
static uint64_t step_core(struct sim *sim)
{
	/* An owner need not call before START. */
	const struct ht_vitals vitals = {
		.silence_ns = sim->status->state == HYTEST_ARMED ? 0 :
			      sim->now_ns - sim->last_heartbeat_ns,
	};
	struct ht_loop *core = sim->program.core;
	const uint64_t begin = real_ns();
	uint64_t step_ns;

	ht_loop_inputs(core, sim->bench.values);
	ht_loop_vitals(core, &vitals);
	ht_loop_tick(core, sim->tick, sim->program.values);
	step_ns = real_ns() - begin;
	sim_bench_write(&sim->bench, sim->now_ns, ht_loop_outputs(core));
	sim_bench_sample(&sim->bench, sim->now_ns);
	return step_ns;
}

static void count_tick(struct sim *sim, uint64_t step_ns)
{
	struct hytest_status *status = sim->status;

	write_record(sim, step_ns);
	hytest_histogram_add(&status->lateness, 0);
	hytest_histogram_add(&status->step, step_ns);
	sim->tick++;
	status->tick = sim->tick;
	status->head++;
}

static void run_tick(struct sim *sim)
{
	const bool armed = sim->status->state == HYTEST_ARMED;
	uint64_t step_ns;
	bool last;

	sim->now_ns = sim->due_ns;
	take_requests(sim);
	step_ns = step_core(sim);
	last = follow_core(sim);
	if (!armed)
		count_tick(sim, step_ns);
	sim->due_ns += header_of(sim)->period_ns;
	if (last)
		unbind(sim);
}

/* Until the real clock shows this virtual time; false if a signal came. */
static bool pace(const struct sim *sim, uint64_t until_ns)
{
	const uint64_t real = sim->real_offset_ns + until_ns;
	const struct timespec until = { .tv_sec = real / NS_PER_S, .tv_nsec = real % NS_PER_S };

	return !sim->paced || !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static bool has_events(const struct sim *sim)
{
	return sim->event_read < sim->event_head;
}

static int sim_wait(struct hytest_loop *loop, uint64_t timeout_ns)
{
	struct sim *sim = sim_of(loop);
	const uint64_t end_ns = sim->now_ns + timeout_ns;
	const uint64_t begin = sim->status->head;
	ht_u32 environment;
	bool interrupted = false, full = false;

	environment = ht_fpenv_enter();
	while (sim->ticking && sim->due_ns <= end_ns && !has_events(sim) && !full) {
		interrupted = !pace(sim, sim->due_ns);
		if (interrupted)
			break;
		run_tick(sim);
		full = sim->status->head - begin >= (sim->status->ring_records + 1) / 2;
	}
	ht_fpenv_leave(environment);
	if (has_events(sim))
		return 1;
	if (!interrupted && !full && pace(sim, end_ns))
		sim->now_ns = end_ns;
	return 0;
}

static int sim_events(struct hytest_loop *loop, struct hytest_event *events, size_t n)
{
	struct sim *sim = sim_of(loop);
	uint64_t dropped;
	size_t i;

	for (i = 0; i < n && has_events(sim); i++) {
		dropped = 0;
		if (sim->event_head - sim->event_read > SIM_EVENTS)
			dropped = sim->event_head - sim->event_read - SIM_EVENTS;
		sim->event_read += dropped;
		events[i] = sim->events[sim->event_read++ % SIM_EVENTS];
		events[i].dropped = dropped;
	}
	return i;
}

static void sim_close(struct hytest_loop *loop)
{
	struct sim *sim = sim_of(loop);

	free_program(&sim->program);
	sim_bench_free(&sim->bench);
	free(sim);
}

static int sim_add_rig(struct hytest_loop *loop, const char *name, const void *image, size_t size,
		       struct hytest_refusal *refusal)
{
	struct sim *sim = sim_of(loop);
	ht_u32 environment;
	int result;

	if (sim->status->state != HYTEST_EMPTY && sim->status->state != HYTEST_LOADED)
		return -EBUSY;
	environment = ht_fpenv_enter();
	result = sim_bench_add(&sim->bench, name, image, size, refusal);
	ht_fpenv_leave(environment);
	return result;
}

static int sim_fault(struct hytest_loop *loop, const char *rig, const char *line, char *text,
		     size_t size)
{
	struct sim *sim = sim_of(loop);
	ht_u32 environment = ht_fpenv_enter();
	int result = sim_bench_fault(&sim->bench, rig, line, sim->now_ns, text, size);

	ht_fpenv_leave(environment);
	return result;
}

static const struct hytest_backend sim_backend = {
	.name = "sim",
	.close = sim_close,
	.call = sim_call,
	.map = sim_map,
	.events = sim_events,
	.wait = sim_wait,
	.add_rig = sim_add_rig,
	.fault = sim_fault,
};

struct hytest_loop *hytest_open_sim(void)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return NULL;
	sim->program.mapping = calloc(1, SIM_PAGE);
	if (!sim->program.mapping) {
		free(sim);
		return NULL;
	}
	sim->program.mapping_size = SIM_PAGE;
	sim->status = (struct hytest_status *)sim->program.mapping;
	sim->status->version = HYTEST_UAPI_VERSION;
	sim->status->ring_offset = SIM_PAGE;
	sim->status->safe = 1;
	sim->loop.backend = &sim_backend;
	sim->loop.status = sim->status;
	return &sim->loop;
}

void hytest_sim_pace(struct hytest_loop *loop)
{
	struct sim *sim = sim_of(loop);

	sim->paced = true;
	sim->real_offset_ns = real_ns() - sim->now_ns;
}
