// SPDX-License-Identifier: GPL-2.0
/*
 * Reader of the ring of records.
 *
 * The loop writes and never waits for a reader. A record is valid if its
 * sequence says so before and after it was copied; one that was overwritten
 * meanwhile is counted as lost, with all that the loop overwrote behind it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

struct hytest_reader {
	struct hytest_loop *loop;
	uint64_t position;	/* number of the next record */
	uint64_t start_ns;	/* of the run that it counts in */
	uint64_t lost;
	uint32_t program;
	bool told_stale;
};

static const struct hytest_status *mapped_status(const struct hytest_loop *loop)
{
	return (const struct hytest_status *)loop->mapping;
}

/* The oldest record that the ring holds. */
static uint64_t oldest_record(const struct hytest_status *status, uint64_t head)
{
	return head > status->ring_records ? head - status->ring_records : 0;
}

struct hytest_reader *hytest_reader_new(struct hytest_loop *loop)
{
	struct hytest_reader *reader = calloc(1, sizeof(*reader));
	const struct hytest_status *status;

	if (!reader)
		return NULL;
	reader->loop = loop;
	if (loop->backend->map(loop) || !loop->mapping)
		return reader;
	status = mapped_status(loop);
	reader->program = hytest_load_u32(&status->program);
	reader->start_ns = hytest_load_u64(&status->start_ns);
	reader->position = oldest_record(status, hytest_load_u64(&status->head));
	return reader;
}

void hytest_reader_free(struct hytest_reader *reader)
{
	free(reader);
}

/* Another program: forget the run before. */
static void follow_program(struct hytest_reader *reader)
{
	const struct hytest_loop *loop = reader->loop;
	uint32_t program = loop->mapping ? hytest_load_u32(&mapped_status(loop)->program) : 0;

	if (program == reader->program)
		return;
	reader->program = program;
	reader->position = 0;
	reader->start_ns = 0;
	reader->lost = 0;
	reader->told_stale = false;
}

size_t hytest_reader_record_size(struct hytest_reader *reader)
{
	struct hytest_loop *loop = reader->loop;

	if (loop->backend->map(loop))
		return 0;
	follow_program(reader);
	reader->told_stale = true;
	return loop->mapping ? mapped_status(loop)->record_size : 0;
}

/* Copies record number r; false if it is not there any more. */
static bool copy_record(const struct hytest_status *status, uint64_t r, void *to)
{
	const unsigned char *ring = (const unsigned char *)status + status->ring_offset;
	const struct hytest_record *from = (const struct hytest_record *)
		(ring + (r & (status->ring_records - 1)) * status->record_size);

	if (hytest_load_u64(&from->sequence) != r + 1)
		return false;
	memcpy(to, from, status->record_size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return hytest_load_u64(&from->sequence) == r + 1;
}

/* After an overrun: somewhat behind the oldest, so as not to be overrun again. */
static void catch_up(struct hytest_reader *reader, const struct hytest_status *status)
{
	const uint64_t head = hytest_load_u64(&status->head);
	const uint64_t margin = status->ring_records / 8;
	uint64_t to = oldest_record(status, head) + margin;

	if (to > head)
		to = head;
	if (to <= reader->position)
		to = reader->position + 1;
	reader->lost += to - reader->position;
	reader->position = to;
}

/* Another run: head and start time change together, so read them together. */
static void follow_run(struct hytest_reader *reader, const struct hytest_status *status)
{
	uint64_t start_ns, head;
	uint32_t before, after;

	do {
		before = hytest_load_u32(&status->sequence);
		start_ns = hytest_load_u64(&status->start_ns);
		head = hytest_load_u64(&status->head);
		after = hytest_load_u32(&status->sequence);
	} while ((before & 1) || before != after);
	if (start_ns == reader->start_ns && reader->position <= head)
		return;
	reader->start_ns = start_ns;
	reader->position = 0;
	reader->lost = 0;
}

long hytest_reader_read(struct hytest_reader *reader, void *records, size_t n)
{
	struct hytest_loop *loop = reader->loop;
	const struct hytest_status *status;
	unsigned char *to = records;
	size_t got = 0;
	int result;

	result = loop->backend->map(loop);
	if (result)
		return result;
	follow_program(reader);
	if (!loop->mapping)
		return 0;
	if (!reader->told_stale)
		return -ESTALE;
	status = mapped_status(loop);
	follow_run(reader, status);
	while (got < n && reader->position < hytest_load_u64(&status->head)) {
		if (!copy_record(status, reader->position, to)) {
			catch_up(reader, status);
			continue;
		}
		reader->position++;
		to += status->record_size;
		got++;
	}
	return got;
}

uint64_t hytest_reader_lost(const struct hytest_reader *reader)
{
	return reader->lost;
}

void hytest_reader_skip(struct hytest_reader *reader)
{
	struct hytest_loop *loop = reader->loop;

	if (loop->backend->map(loop) || !loop->mapping)
		return;
	follow_program(reader);
	follow_run(reader, mapped_status(loop));
	reader->position = hytest_load_u64(&mapped_status(loop)->head);
}
