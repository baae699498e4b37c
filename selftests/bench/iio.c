// SPDX-License-Identifier: GPL-2.0
/*
 * What IIO adds to a tick, and how long a measurement needs to become a command.
 *
 * The rig has a sensor that shows a saw tooth, and a wire from each DAC to nowhere,
 * but the first comes back to the second ADC. The program passes the sensor on to all
 * outputs, so each of them has a new code at every tick.
 *
 * Latency: the scan of tick k - 1 is taken at tick k, and the command made of it is
 * written at once: 1 period. The ADC behind the DAC sees it with the scan of tick k + 1,
 * the loop has that at tick k + 2. So what is sent at tick k comes back at tick
 * k + 1 + latency. Looked for at every tick.
 *
 * Cost: of the whole tick, with interrupts, the thread that scans and the worker that
 * writes, bound, minus the same of the same program bound to nothing. The rig is the
 * hardware here: what it computes for its only block is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "rig.h"

#define PERIOD_NS	200000
#define RIG		"bench"
#define TRIGGER		"hytest0.0"
#define SENSOR_OMEGA	323.0		/* rad/s: 97 ticks for a tooth of 3277 codes */
#define MOST_LATENCY	16
#define SETTLE_TICKS	100

/* Of a loop that passes a measurement on. */
#define LEAST_INPUTS	2		/* sensor, and the first output measured */
#define LEAST_OUTPUTS	1
#define MORE		8		/* of either, for the cost of one */

/* Places in a record. */
enum { SENSOR, BACK };

static void name_channel(char name[16], const char *what, unsigned int number)
{
	snprintf(name, 16, "%s%u", what, number);
}

static void make_rig(int rigs, unsigned int n_inputs, unsigned int n_outputs)
{
	struct draft *rig = draft_new_rig(PERIOD_NS / 2);
	ht_u32 sensor = draft_signal(rig, "sensor", 0), command[1 + MORE];
	unsigned int i, device;
	ht_u32 block;
	char name[16];

	block = draft_block(rig, "phase", 0, 0, NULL, 1, &sensor);
	draft_set(rig, block, "omega", 0, SENSOR_OMEGA);
	for (i = 0; i < n_outputs; i++) {
		name_channel(name, "out", i);
		command[i] = draft_signal(rig, name, 0);
		draft_dac(rig, command[i], name);
	}
	for (i = 0; i < n_inputs; i++) {
		name_channel(name, "in", i);
		draft_adc(rig, i == BACK ? command[0] : sensor, name);
	}
	must("make the rig", rig_create(rigs, RIG, rig, &device));
	must("give it " TRIGGER, iio_write(device, "trigger/current_trigger", TRIGGER));
	draft_free(rig);
}

static void load_loop(int fd, unsigned int n_inputs, unsigned int n_outputs, bool bound)
{
	struct draft *loop = draft_new(PERIOD_NS);
	ht_u32 input, output, signal, sensor = 0;
	unsigned int i;
	char name[16];

	for (i = 0; i < n_inputs; i++) {
		name_channel(name, "in", i);
		signal = draft_signal(loop, name, 0);
		if (i == SENSOR)
			sensor = signal;
		draft_record(loop, signal);
		input = draft_input(loop, signal);
		if (bound)
			draft_bind(&loop->inputs[input].channel, RIG, name);
	}
	for (i = 0; i < n_outputs; i++) {
		name_channel(name, "out", i);
		output = draft_output(loop, sensor, 0, 1000);
		if (bound)
			draft_bind(&loop->outputs[output].channel, RIG, name);
	}
	must("load", loop_load(fd, loop));
	draft_free(loop);
}

static double cost_of(int fd, unsigned int n_inputs, unsigned int n_outputs, bool bound)
{
	struct view view;
	struct cost cost;

	load_loop(fd, n_inputs, n_outputs, bound);
	must("map", view_open(&view, fd));
	cost = measure_cost(fd, &view, SETTLE_TICKS);
	view_close(&view);
	return cost.per_tick;
}

struct added {
	double bound;
	double unbound;
};

static struct added measure_added(int fd, int rigs, unsigned int n_inputs, unsigned int n_outputs)
{
	struct added added;

	make_rig(rigs, n_inputs, n_outputs);
	added.bound = cost_of(fd, n_inputs, n_outputs, true);
	added.unbound = cost_of(fd, n_inputs, n_outputs, false);
	must("remove the rig", rig_remove(rigs, RIG));
	return added;
}

struct latency {
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t other;		/* not 1, or values that did not come back */
	double sent[MOST_LATENCY + 1];	/* by the tick's number, newest of each */
};

/* Which of the last values of the sensor has come back at this tick? */
static void look_for(struct latency *l, const struct hytest_record *record)
{
	const double back = record_value(record, BACK);
	const unsigned int n = MOST_LATENCY + 1;
	uint64_t ticks;

	for (ticks = 0; ticks < MOST_LATENCY; ticks++)
		if (l->sent[(record->tick + n - 1 - ticks) % n] == back)
			break;
	l->sent[record->tick % n] = record_value(record, SENSOR);
	/* Before that nothing can have come back. */
	if (record->tick < n)
		return;
	l->other += ticks != 1;
	if (ticks == MOST_LATENCY)
		return;
	l->count++;
	l->sum += ticks;
	l->min = ticks < l->min ? ticks : l->min;
	l->max = ticks > l->max ? ticks : l->max;
}

static void measure_latency(int fd, int rigs, uint64_t ticks)
{
	struct latency l = { .min = UINT64_MAX };
	struct hytest_record *record;
	struct hytest_status status;
	uint64_t next = 0;
	struct view view;

	make_rig(rigs, LEAST_INPUTS, LEAST_OUTPUTS);
	load_loop(fd, LEAST_INPUTS, LEAST_OUTPUTS, true);
	must("map", view_open(&view, fd));
	record = view_room(&view);
	start_loop(fd);
	do {
		status = let_run(fd, &view);
		for (; next < status.head; next++) {
			if (!view_record(&view, next, record))
				must("read the ring in time", EOVERFLOW);
			look_for(&l, record);
		}
	} while (status.tick < ticks);
	stop_loop(fd, &view);
	printf("\"ticks\": %llu, \"missed\": %llu, \"lost_scans\": %llu, \"failed_writes\": %llu, ",
	       (unsigned long long)status.tick, (unsigned long long)status.missed,
	       (unsigned long long)status.lost_scans, (unsigned long long)status.failed_writes);
	printf("\"latency\": { \"count\": %llu, \"min\": %llu, \"mean\": %.6f, \"max\": %llu, "
	       "\"other\": %llu }, ", (unsigned long long)l.count,
	       (unsigned long long)(l.count ? l.min : 0),
	       l.count ? (double)l.sum / (double)l.count : 0, (unsigned long long)l.max,
	       (unsigned long long)l.other);
	free(record);
	view_close(&view);
	must("remove the rig", rig_remove(rigs, RIG));
}

void bench_iio(int fd, uint64_t ticks)
{
	struct added least, inputs, outputs;
	double added, per_input, per_output;
	int rigs = rig_open(O_RDWR);

	if (rigs < 0)
		must("/dev/hytest_rig", errno);
	printf("{ ");
	measure_latency(fd, rigs, ticks);
	least = measure_added(fd, rigs, LEAST_INPUTS, LEAST_OUTPUTS);
	inputs = measure_added(fd, rigs, LEAST_INPUTS + MORE, LEAST_OUTPUTS);
	outputs = measure_added(fd, rigs, LEAST_INPUTS, LEAST_OUTPUTS + MORE);
	close(rigs);
	added = least.bound - least.unbound;
	per_input = (inputs.bound - inputs.unbound - added) / MORE;
	per_output = (outputs.bound - outputs.unbound - added) / MORE;
	printf("\"bound\": %.1f, \"unbound\": %.1f, \"added\": %.1f, \"per_input\": %.1f, "
	       "\"per_output\": %.1f, \"fixed\": %.1f }\n", least.bound, least.unbound, added,
	       per_input, per_output,
	       added - LEAST_INPUTS * per_input - LEAST_OUTPUTS * per_output);
}
