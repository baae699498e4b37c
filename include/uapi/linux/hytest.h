/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hytest: the contract between the loop in the kernel and its supervisor.
 *
 * /dev/hytestN is one loop. Whoever may open it for reading can watch: mmap()
 * shows the status page and the ring of records, read() and poll() deliver
 * events. Whoever may open it for writing can trip it (HYTEST_IOC_TRIP) and
 * can try to take control (HYTEST_IOC_CONTROL), which one open file has at a
 * time. Everything else needs control.
 *
 * States:
 *	empty --LOAD--> loaded --ARM--> armed --START--> running
 *	(START: EPERM while an interlock without latch is violated)
 *	armed, running or stopping --(any failure)--> tripped --ACK--> loaded
 *	running --STOP--> stopping --(outputs safe)--> loaded
 *
 * All structures have fixed size, the same for 32-bit and 64-bit callers, and
 * 8-byte alignment. Doubles are carried as their 64 bits (IEEE 754). Fields
 * called reserved must be zero. A struct ht_... belongs to the program image
 * and is described in kmod/core/image.h.
 */
#ifndef _UAPI_LINUX_HYTEST_H
#define _UAPI_LINUX_HYTEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define HYTEST_UAPI_VERSION	2

enum hytest_state {
	HYTEST_EMPTY,		/* no program */
	HYTEST_LOADED,		/* a program, outputs safe, timer stopped */
	HYTEST_ARMED,		/* measured, bound, inputs watched, ready to start */
	HYTEST_RUNNING,
	HYTEST_STOPPING,	/* outputs fade to their safe values */
	HYTEST_TRIPPED,		/* until acknowledged */
};

/* Log-linear histogram: four buckets for each power of two of nanoseconds. */
#define HYTEST_BUCKETS		128

/**
 * struct hytest_histogram - distribution of a duration in ns
 * @count: number of samples
 * @sum: of all samples
 * @min: smallest, or ~0 before the first
 * @max: largest
 * @bucket: samples in each bucket. Bucket b < 4 holds exactly b ns; from there
 *	on bucket 4 * e + s (e = 1, 2, ...; s = 0..3) holds the durations from
 *	(4 + s) << (e - 1) up to the next bucket; the last holds all the rest.
 */
struct hytest_histogram {
	__aligned_u64 count;
	__aligned_u64 sum;
	__aligned_u64 min;
	__aligned_u64 max;
	__aligned_u64 bucket[HYTEST_BUCKETS];
};

/**
 * struct hytest_trip - why a loop tripped
 * @cause: enum ht_cause of kmod/core/loop.h, 0 for none
 * @index: interlock or signal, where the cause has one
 * @tick: at which it happened
 * @time_ns: CLOCK_MONOTONIC
 * @value: bits of the double that was out of bounds
 * @limit: bits of the double that it exceeded
 */
struct hytest_trip {
	__u32 cause;
	__u32 index;
	__aligned_u64 tick;
	__aligned_u64 time_ns;
	__aligned_u64 value;
	__aligned_u64 limit;
};

/**
 * struct hytest_status - first page of the mapping, written by the kernel
 * @sequence: odd while the kernel writes; read it before and after
 * @version: HYTEST_UAPI_VERSION
 * @state: enum hytest_state
 * @program: changes with every LOAD and UNLOAD: then map the ring anew
 * @record_size: bytes of a record
 * @ring_records: capacity of the ring, a power of two
 * @ring_offset: of the ring within the mapping
 * @mapping_size: of status page and ring together
 * @head: records written since START; record r lies at
 *	ring_offset + (r % ring_records) * record_size
 * @tick: number of the next tick
 * @missed: ticks missed since START
 * @overruns: ticks that ended after their deadline since START
 * @period_ns: of the loaded program
 * @start_ns: CLOCK_MONOTONIC of tick 0. Ticks and records are numbered anew
 *	with each START; this tells one run from another.
 * @batch: number of the last parameter batch in force, 0 for none
 * @safe: 1 if all outputs have been commanded to their safe values
 * @lost_scans: scans of inputs that did not come in time since START
 * @failed_writes: ticks since START at which an output of the tick before had
 *	not been written
 * @bound_inputs: inputs that are bound to a channel now
 * @bound_outputs: outputs that are bound to a channel now
 * @write_age: ticks in a row whose outputs could not be written; what is safe but
 *	was not written may still be anywhere
 * @reserved: zero
 * @owner: process that has control (in the first namespace), 0 for none
 * @cpu: that the loop runs on
 * @budget_ns: that a dry tick may take
 * @dry_worst_ns: slowest dry tick of the last ARM
 * @trip: the first cause of the last trip
 * @lateness: of the tick's start against the grid
 * @step: execution time of a tick
 */
struct hytest_status {
	__u32 sequence;
	__u32 version;
	__u32 state;
	__u32 program;
	__u32 record_size;
	__u32 ring_records;
	__aligned_u64 ring_offset;
	__aligned_u64 mapping_size;
	__aligned_u64 head;
	__aligned_u64 tick;
	__aligned_u64 missed;
	__aligned_u64 overruns;
	__aligned_u64 period_ns;
	__aligned_u64 start_ns;
	__u32 batch;
	__u32 safe;
	__u32 owner;
	__u32 cpu;
	__u32 budget_ns;
	__u32 dry_worst_ns;
	__aligned_u64 lost_scans;
	__aligned_u64 failed_writes;
	__u32 bound_inputs;
	__u32 bound_outputs;
	__u32 write_age;
	__u32 reserved;
	struct hytest_trip trip;
	struct hytest_histogram lateness;
	struct hytest_histogram step;
};

/**
 * struct hytest_record - one tick in the ring
 * @sequence: number of this record + 1, written last; 0 while it is written.
 *	Read it before and after copying the record: if it is not the number
 *	wanted + 1 both times, the record was overwritten.
 * @tick: which tick
 * @time_ns: CLOCK_MONOTONIC at which the tick was due
 * @lateness_ns: how much later it began
 * @step_ns: execution time until the outputs of this tick were known
 * @batch: number of the parameter batch in force
 * @missed: ticks missed between the record before and this one
 * @state: enum hytest_state during this tick
 * @cause: of the trip, 0 if not tripped
 * @scan_age: ticks by which the inputs are older than the scan that the tick
 *	before asked for; 0: as it should be. The worst input.
 * @write_age: ticks in a row, up to the one before, whose outputs had not been
 *	written when this tick began; 0: as it should be. The worst output.
 * @value: bits of doubles: the recorded signals, then the outputs applied
 */
struct hytest_record {
	__aligned_u64 sequence;
	__aligned_u64 tick;
	__aligned_u64 time_ns;
	__u32 lateness_ns;
	__u32 step_ns;
	__u32 batch;
	__u32 missed;
	__u32 state;
	__u32 cause;
	__u32 scan_age;
	__u32 write_age;
	__aligned_u64 value[];
};

enum hytest_event_type {
	HYTEST_EVENT_LOADED = 1,
	HYTEST_EVENT_UNLOADED,
	HYTEST_EVENT_ARMED,
	HYTEST_EVENT_DISARMED,
	HYTEST_EVENT_STARTED,
	HYTEST_EVENT_STOPPING,
	HYTEST_EVENT_STOPPED,		/* soft stop finished */
	HYTEST_EVENT_TRIPPED,		/* index: cause << 16 | which */
	HYTEST_EVENT_SAFE,		/* outputs safe after a trip */
	HYTEST_EVENT_ACKNOWLEDGED,
	HYTEST_EVENT_BATCH,		/* index: number of the batch */
	HYTEST_EVENT_MISSED,		/* value: number of ticks (integer) */
	HYTEST_EVENT_OVERRUN,		/* value: ns (integer) */
	HYTEST_EVENT_CONTROL_TAKEN,	/* index: process */
	HYTEST_EVENT_CONTROL_LEFT,	/* index: process */
	HYTEST_EVENT_BOUND,		/* value: channels bound (integer) */
	HYTEST_EVENT_UNBOUND,
};

/**
 * struct hytest_event - what read() delivers, one or more at a time
 * @sequence: number of the event since the module was loaded, from 1; a gap
 *	means that events were overwritten before this reader came
 * @tick: at which it happened
 * @time_ns: CLOCK_MONOTONIC
 * @type: enum hytest_event_type
 * @index: see the type
 * @value: see the type; for a trip bits of the double
 * @limit: for a trip bits of the double
 * @dropped: events that this reader lost just before this one
 * @reserved: zero
 */
struct hytest_event {
	__aligned_u64 sequence;
	__aligned_u64 tick;
	__aligned_u64 time_ns;
	__u32 type;
	__u32 index;
	__aligned_u64 value;
	__aligned_u64 limit;
	__u32 dropped;
	__u32 reserved;
};

/**
 * struct hytest_info - what this module and loop can do
 * @version: HYTEST_UAPI_VERSION
 * @image_version: HT_IMAGE_VERSION that it runs
 * @state: enum hytest_state
 * @loop: number of the loop
 * @max_image_bytes: a larger image is refused
 * @max_loop_bytes: image, program and ring together may need so much
 * @loop_bytes: that the loaded program needs
 * @image_bytes: size of the loaded image
 * @controlled: 1 if this file has control, 2 if another one has, 0 if none
 * @block_types: number of block types that the module knows
 */
struct hytest_info {
	__u32 version;
	__u32 image_version;
	__u32 state;
	__u32 loop;
	__aligned_u64 max_image_bytes;
	__aligned_u64 max_loop_bytes;
	__aligned_u64 loop_bytes;
	__aligned_u64 image_bytes;
	__u32 controlled;
	__u32 block_types;
};

/**
 * struct hytest_refusal - why an image or a batch was refused
 * @code: enum ht_error_code, 0 if it was not refused
 * @where: enum ht_error_where
 * @index: which signal, block, ...; of a batch: which change
 * @item: which field or port; of a batch: which parameter
 * @value: bits of the offending double, or a count
 */
struct hytest_refusal {
	__u32 code;
	__u32 where;
	__u32 index;
	__u32 item;
	__aligned_u64 value;
};

/**
 * struct hytest_load - load a program image
 * @image: address of the image
 * @size: of the image in bytes
 * @needed_bytes: out: what the loop would need; with E2BIG compare it with
 *	max_loop_bytes, or max_image_bytes with EFBIG
 * @refusal: out: with EINVAL
 */
struct hytest_load {
	__aligned_u64 image;
	__aligned_u64 size;
	__aligned_u64 needed_bytes;
	struct hytest_refusal refusal;
};

/**
 * struct hytest_image - read the loaded image back (any open file)
 * @buffer: address for it
 * @size: in: of the buffer; out: of the image. ENOSPC if it does not fit.
 */
struct hytest_image {
	__aligned_u64 buffer;
	__aligned_u64 size;
};

/* Why a channel of the image could not be bound. */
enum hytest_bind_problem {
	HYTEST_BIND_OK,
	HYTEST_BIND_NO_DEVICE,		/* no device of this name or label */
	HYTEST_BIND_TWO_DEVICES,	/* more than one: give them labels */
	HYTEST_BIND_NO_CHANNEL,		/* the device has no such channel in this direction */
	HYTEST_BIND_NO_VALUE,		/* it can neither be scanned nor read, or not written */
	HYTEST_BIND_NO_TRIGGER,		/* the device's trigger is not one of this loop */
	HYTEST_BIND_SCALE,		/* scale or offset cannot be read or make no sense */
	HYTEST_BIND_REFUSED,		/* the driver refused (error): buffer, read or write */
	HYTEST_BIND_NO_SCAN,		/* no scan came */
	HYTEST_BIND_TAKEN,		/* an output that another loop, or another output, drives */
};

#define HYTEST_MAX_LOCKS	256

/**
 * struct hytest_arm - measure the program, bind its channels, make it ready
 * @cpu: that the loop shall run on
 * @dry_ticks: number of ticks to measure, 1..100000
 * @worst_ns: out: slowest of them
 * @budget_ns: out: limit of the image; worse is ETIME
 * @interlock: out: with EPERM the first interlock that is not healthy
 * @problem: out: with ENXIO enum hytest_bind_problem
 * @channel: out: with ENXIO the input, or number of inputs + output
 * @error: out: with ENXIO what the driver said, a positive errno, or 0
 * @unhealthy: out: with EPERM a bit for each interlock that is not healthy;
 *	HYTEST_IOC_GET_LOCK then shows how they were at that moment
 */
struct hytest_arm {
	__u32 cpu;
	__u32 dry_ticks;
	__u32 worst_ns;
	__u32 budget_ns;
	__u32 interlock;
	__u32 problem;
	__u32 channel;
	__u32 error;
	__aligned_u64 unhealthy[HYTEST_MAX_LOCKS / 64];
};

/* One changed parameter. */
struct hytest_change {
	__u32 param;
	__u32 reserved;
	__aligned_u64 value;
};

#define HYTEST_MAX_CHANGES	65536

/**
 * struct hytest_batch - change parameters together on one tick boundary
 * @changes: address of struct hytest_change[count]
 * @count: 1..HYTEST_MAX_CHANGES
 * @number: out: of this batch, from 1 since START
 * @tick: in: earliest tick that shall see the change, 0 for the next one
 * @refusal: out: with EINVAL; nothing has changed then
 *
 * EBUSY while the batch before waits for its tick, and after a trip. While the loop is not
 * running the change is made at once and is kept by START.
 */
struct hytest_batch {
	__aligned_u64 changes;
	__u32 count;
	__u32 number;
	__aligned_u64 tick;
	struct hytest_refusal refusal;
};

/**
 * struct hytest_params - read the parameters in force (any open file)
 * @values: address for the bits of the doubles
 * @first: number of the first
 * @count: how many
 */
struct hytest_params {
	__aligned_u64 values;
	__u32 first;
	__u32 count;
};

/**
 * struct hytest_lock - look at an interlock (any open file)
 * @interlock: in: which
 * @healthy: out: 1 if it would not trip now
 * @violated_ticks: out
 * @reserved: zero
 * @value: out: bits of the double it looked at
 * @limit: out: bits of the limit nearest to it
 */
struct hytest_lock {
	__u32 interlock;
	__u32 healthy;
	__u32 violated_ticks;
	__u32 reserved;
	__aligned_u64 value;
	__aligned_u64 limit;
};

#define HYTEST_IOC_INFO		_IOR('H', 0x00, struct hytest_info)
#define HYTEST_IOC_IMAGE	_IOWR('H', 0x01, struct hytest_image)
#define HYTEST_IOC_GET_PARAMS	_IOW('H', 0x02, struct hytest_params)
#define HYTEST_IOC_GET_LOCK	_IOWR('H', 0x03, struct hytest_lock)
#define HYTEST_IOC_REWIND	_IO('H', 0x04)	/* read() begins with the oldest event kept */
/* For files opened for writing */
#define HYTEST_IOC_TRIP		_IO('H', 0x10)
#define HYTEST_IOC_CONTROL	_IO('H', 0x11)	/* EBUSY: another has it */
/* For the file that has control, EPERM for all others */
#define HYTEST_IOC_RELEASE	_IO('H', 0x20)	/* trips what is armed or moves */
#define HYTEST_IOC_LOAD		_IOWR('H', 0x21, struct hytest_load)
#define HYTEST_IOC_UNLOAD	_IO('H', 0x22)
#define HYTEST_IOC_ARM		_IOWR('H', 0x23, struct hytest_arm)
#define HYTEST_IOC_DISARM	_IO('H', 0x24)
#define HYTEST_IOC_START	_IO('H', 0x25)
#define HYTEST_IOC_STOP		_IO('H', 0x26)
#define HYTEST_IOC_ACK		_IO('H', 0x27)	/* EBUSY until outputs are safe: try again */
#define HYTEST_IOC_BATCH	_IOWR('H', 0x28, struct hytest_batch)
#define HYTEST_IOC_HEARTBEAT	_IO('H', 0x29)

#endif
