// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile input: mutated program images, some of which are then armed and
 * started, and random system calls from several threads against a running
 * loop. The kernel must neither complain (the harness of the virtual machine
 * looks for that) nor hang nor lose memory, and the loop must go on.
 *
 * HYTEST_SEED sets the seed, which is printed; HYTEST_IMAGES and HYTEST_CALLS
 * the numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "loop.h"

#define THREADS		4

static uint64_t setting(const char *name, uint64_t preset)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : preset;
}

/* A fixture only because a test without one may take no more than 30 s. */
FIXTURE(hostile) {
};

FIXTURE_SETUP(hostile)
{
}

FIXTURE_TEARDOWN(hostile)
{
}

/* xorshift64*: reproducible, one state for each thread. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	return (draw(state) >> 16) % n;
}

/* Numbers that break careless arithmetic. */
static uint64_t odd_number(uint64_t *state)
{
	static const uint64_t odd[] = {
		0, 1, 2, 7, 8, 255, 4095, 4096, 65535, 65536, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000ull, 0x7fffffffffffffffull, 0x8000000000000000ull,
		0xffffffffffffffffull, 0x7ff0000000000000ull, 0x7ff8000000000000ull,
		0xfff0000000000000ull, 0x3ff0000000000000ull, 0x7fefffffffffffffull,
		0x0000000000000001ull, 0x4330000000000000ull,
	};

	if (below(state, 3) == 0)
		return draw(state);
	return odd[below(state, HT_COUNT(odd))];
}

/* A program that has something of everything. */
static struct draft *rich_program(void)
{
	struct draft *draft = draft_new(1000000);
	ht_u32 s[24], block, i;

	for (i = 0; i < 24; i++)
		s[i] = draft_signal(draft, "signal", 0);
	block = draft_block(draft, "fourier", 3, 0, NULL, 3, s);
	draft_set(draft, block, "omega", 0, 10);
	draft_set(draft, block, "cos", 1, 2);
	block = draft_block(draft, "matrix", 0, 3, s, 3, s + 3);
	draft_set(draft, block, "A", 0, 1);
	block = draft_block(draft, "limit", 0, 1, s + 3, 1, s + 6);
	draft_set(draft, block, "min", 0, -5);
	draft_set(draft, block, "max", 0, 5);
	draft_block(draft, "product", 0, 2, s + 3, 1, s + 7);
	draft_block(draft, "unit_delay", 0, 1, s + 3, 1, s + 8);
	draft_block(draft, "noise", 0, 0, NULL, 1, s + 9);
	block = draft_block(draft, "biquad", 2, 1, s + 3, 1, s + 10);
	draft_block(draft, "delay", 16, 1, s + 3, 1, s + 11);
	draft_block(draft, "state_space", 2, 1, s + 3, 1, s + 12);
	block = draft_block(draft, "table", 32, 0, NULL, 1, s + 13);
	draft_set(draft, block, "interval", 0, 0.01);
	for (i = 0; i < 24; i++)
		draft_record(draft, s[i]);
	draft_output(draft, s[6], 0, 1000);
	draft_output(draft, s[3], 1, 1000);
	draft_lock(draft, HT_LOCK_RANGE, HT_ACTION_RAMP, s[3], -100, 100);
	draft_lock(draft, HT_LOCK_RMS, HT_ACTION_HOLD, s[6], 0, 100)->window_ticks = 8;
	draft->header.ring_records = 64;
	draft->header.missed_ticks = 0;
	draft->header.deadline_ticks = HT_MAX_LATE_TICKS;
	draft->text = "hostile";
	return draft;
}

static void mutate(uint64_t *state, unsigned char *image, size_t *size)
{
	size_t header = sizeof(struct ht_image_header);
	unsigned int n = 1 + below(state, 4);
	uint64_t number;
	size_t at, wide;

	while (n--) {
		number = odd_number(state);
		wide = below(state, 2) ? 8 : 4;
		switch (below(state, 8)) {
		case 0:	/* one bit anywhere */
			image[below(state, *size)] ^= 1 << below(state, 8);
			break;
		case 1:	/* a count of the header */
		case 2:
			at = below(state, (header - wide) / 4) * 4;
			memcpy(image + at, &number, wide);
			break;
		case 3:	/* another length */
			*size = below(state, *size) + 1;
			break;
		case 4:	/* one word moved */
			at = below(state, (*size - wide + 1));
			memmove(image + at, image + below(state, *size - wide + 1), wide);
			break;
		default: /* a word of a section */
			if (*size <= header + 8)
				break;
			at = header + below(state, (*size - header - 8) / 4) * 4;
			memcpy(image + at, &number, wide);
		}
		if (*size < 16)
			break;
	}
}

/* Whether it would come to rest soon: a ramp may take an hour. */
static bool ends_soon(const void *bytes)
{
	struct ht_image image;
	ht_u32 i;

	ht_image_open(&image, bytes);
	if (image.header->period_ns > 10000000 || image.header->post_trip_ticks > 100)
		return false;
	for (i = 0; i < image.header->n_outputs; i++)
		if (image.outputs[i].max - image.outputs[i].min > 10 * image.outputs[i].ramp)
			return false;
	return true;
}

/* Arms, starts, changes something, looks at it and stops. */
static void try_to_run(uint64_t *state, int fd)
{
	struct hytest_arm arm = { .dry_ticks = 1 };
	struct hytest_lock lock = { .interlock = below(state, 3) };
	uint64_t bits[4];
	struct hytest_params params = { .values = (uintptr_t)bits, .count = 4 };

	loop_ioctl(fd, HYTEST_IOC_GET_LOCK, &lock);
	loop_ioctl(fd, HYTEST_IOC_GET_PARAMS, &params);
	loop_change(fd, below(state, 64), real_of(odd_number(state)), 0, NULL);
	if (loop_ioctl(fd, HYTEST_IOC_ARM, &arm))
		return;
	if (loop_ioctl(fd, HYTEST_IOC_START, NULL))
		return;
	sleep_ms(5);
	loop_change(fd, below(state, 64), real_of(odd_number(state)), 0, NULL);
	sleep_ms(2);
}

/* A file that is closed trips the loop; the next one must be able to go on. */
static int fresh_owner(struct __test_metadata *_metadata, int fd)
{
	struct hytest_info info;

	if (fd >= 0)
		close(fd);
	fd = loop_open(0, O_RDWR | O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, loop_ioctl(fd, HYTEST_IOC_CONTROL, NULL));
	for (;;) {
		ASSERT_EQ(0, loop_ioctl(fd, HYTEST_IOC_INFO, &info));
		if (info.state == HYTEST_LOADED || info.state == HYTEST_EMPTY)
			return fd;
		loop_ioctl(fd, HYTEST_IOC_ACK, NULL);
		sleep_ms(1);
	}
}

TEST_F_TIMEOUT(hostile, images, 1200)
{
	uint64_t state = setting("HYTEST_SEED", 20240101), n = setting("HYTEST_IMAGES", 10000);
	uint64_t i, loaded = 0, ran = 0, refused[HT_ERRORS] = { 0 };
	struct draft *draft = rich_program();
	struct hytest_load load;
	struct hytest_info info;
	size_t good_size, size;
	unsigned char *good = draft_image(draft, &good_size), *image = malloc(good_size);
	int fd = fresh_owner(_metadata, -1);

	printf("# seed %llu, %llu images\n", (unsigned long long)state, (unsigned long long)n);
	ASSERT_EQ(0, loop_load_bytes(fd, good, good_size, &load));
	for (i = 0; i < n; i++) {
		int ret;

		memcpy(image, good, good_size);
		size = good_size;
		mutate(&state, image, &size);
		/* Three of four with a good size and CRC, so that it gets further. */
		if (below(&state, 4)) {
			if (size >= sizeof(struct ht_image_header))
				((struct ht_image_header *)image)->size = size;
			image_repair_crc(image, size);
		}
		ret = loop_load_bytes(fd, image, size, &load);
		if (ret == EINVAL) {
			ASSERT_LT(0, load.refusal.code);
			ASSERT_GT(HT_ERRORS, load.refusal.code);
			ASSERT_GT(HT_PLACES, load.refusal.where);
			refused[load.refusal.code]++;
			continue;
		}
		ASSERT_TRUE(ret == 0 || ret == E2BIG || ret == ENOMEM);
		if (ret)
			continue;
		loaded++;
		if (below(&state, 8) || !ends_soon(image))
			continue;
		ran++;
		try_to_run(&state, fd);
		ASSERT_EQ(0, loop_ioctl(fd, HYTEST_IOC_INFO, &info));
		if (info.state == HYTEST_LOADED)
			continue;
		if (info.state == HYTEST_ARMED)
			loop_ioctl(fd, HYTEST_IOC_DISARM, NULL);
		else
			loop_ioctl(fd, HYTEST_IOC_TRIP, NULL);
		fd = fresh_owner(_metadata, fd);
	}
	for (i = 0; i < HT_ERRORS; i++)
		if (refused[i])
			printf("# %llu refused: %s\n", (unsigned long long)refused[i],
			       ht_error_text(i));
	printf("# %llu loaded, %llu tried\n", (unsigned long long)loaded, (unsigned long long)ran);
	EXPECT_LT(0, ran);
	/* The device is as good as before. */
	EXPECT_EQ(0, loop_load_bytes(fd, good, good_size, &load));
	EXPECT_EQ(0, loop_ioctl(fd, HYTEST_IOC_UNLOAD, NULL));
	close(fd);
	free(good);
	free(image);
	draft_free(draft);
}

struct attacker {
	pthread_t thread;
	uint64_t state;
	uint64_t calls;
	uint64_t good;		/* calls that succeeded */
	int owner;		/* file that controls the loop */
	bool gentle;		/* do not end the run */
	const void *image;
	size_t image_size;
};

static uint64_t odd_address(struct attacker *a, void *room)
{
	switch (below(&a->state, 5)) {
	case 0:
		return odd_number(&a->state);
	case 1:
		return (uintptr_t)a->image;
	case 2:
		return 0;
	default:
		return (uintptr_t)room;
	}
}

static void fill_room(struct attacker *a, unsigned char *room, size_t size)
{
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= size; i += 8) {
		word = below(&a->state, 3) ? odd_number(&a->state) : below(&a->state, 64);
		memcpy(room + i, &word, 8);
	}
}

static const unsigned long requests[] = {
	HYTEST_IOC_INFO, HYTEST_IOC_IMAGE, HYTEST_IOC_GET_PARAMS, HYTEST_IOC_GET_LOCK,
	HYTEST_IOC_REWIND, HYTEST_IOC_TRIP, HYTEST_IOC_CONTROL, HYTEST_IOC_RELEASE, HYTEST_IOC_LOAD,
	HYTEST_IOC_UNLOAD, HYTEST_IOC_ARM, HYTEST_IOC_DISARM, HYTEST_IOC_START,
	HYTEST_IOC_STOP, HYTEST_IOC_ACK, HYTEST_IOC_BATCH, HYTEST_IOC_HEARTBEAT,
};

static bool ends_the_run(unsigned long request)
{
	return request == HYTEST_IOC_TRIP || request == HYTEST_IOC_RELEASE ||
	       request == HYTEST_IOC_STOP || request == HYTEST_IOC_BATCH;
}

static unsigned long odd_request(struct attacker *a)
{
	unsigned long request = requests[below(&a->state, HT_COUNT(requests))];

	switch (below(&a->state, 8)) {
	case 0:		/* anything */
		return draw(&a->state) & 0xffffffff;
	case 1:		/* ours with another size, number or direction */
		return request ^ 1ul << below(&a->state, 32);
	case 2:
		return 'H' << 8 | (draw(&a->state) & 0xffff00ff);
	default:
		return request;
	}
}

/* Half of the time something that makes sense, so that it gets further. */
static void make_sense(struct attacker *a, unsigned long request, void *room)
{
	struct hytest_load *load = room;
	struct hytest_batch *batch = room;
	struct hytest_params *params = room;
	struct hytest_image *image = room;
	struct hytest_arm *arm = room;
	unsigned char *data = (unsigned char *)room + 256;

	switch (request) {
	case HYTEST_IOC_LOAD:
		load->image = (uintptr_t)a->image;
		load->size = below(&a->state, 2) ? a->image_size : odd_number(&a->state);
		break;
	case HYTEST_IOC_BATCH:
		batch->changes = odd_address(a, data);
		batch->count = below(&a->state, 4);
		batch->tick = below(&a->state, 3) ? 0 : odd_number(&a->state);
		break;
	case HYTEST_IOC_GET_PARAMS:
		params->values = odd_address(a, data);
		params->first = below(&a->state, 8);
		params->count = below(&a->state, 32);
		break;
	case HYTEST_IOC_IMAGE:
		image->buffer = odd_address(a, data);
		image->size = below(&a->state, 2) ? 65536 : odd_number(&a->state);
		break;
	case HYTEST_IOC_ARM:
		arm->cpu = below(&a->state, 3);
		arm->dry_ticks = below(&a->state, 4);
		break;
	default:
		break;
	}
}

static void touch_mapping(struct attacker *a, int fd)
{
	size_t length = odd_number(&a->state) % (1 << 20);
	off_t offset = (odd_number(&a->state) % (1 << 20)) & ~4095ull;
	int prot = below(&a->state, 4) ? PROT_READ : PROT_READ | PROT_WRITE;
	volatile const char *map = mmap(NULL, length, prot, MAP_SHARED, fd, offset);
	size_t i;

	if (map == MAP_FAILED)
		return;
	for (i = 0; i < length; i += 4096)
		(void)map[i];
	munmap((void *)map, length);
}

static void *attack(void *argument)
{
	struct attacker *a = argument;
	unsigned char *room = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int flags = below(&a->state, 2) ? O_RDONLY : O_RDWR;
	int own = loop_open(0, flags | O_NONBLOCK);
	uint64_t i;

	for (i = 0; i < a->calls;) {
		unsigned long request = odd_request(a);
		int fd = own;
		void *address;

		/* Also through the file that has control, which threads share. */
		if (a->owner >= 0 && below(&a->state, 2))
			fd = a->owner;
		if (a->gentle && (fd == a->owner || request == HYTEST_IOC_TRIP) &&
		    ends_the_run(request))
			continue;
		/* Seldom, so that there is a run to be disturbed. */
		if ((request == HYTEST_IOC_RELEASE || request == HYTEST_IOC_UNLOAD ||
		     request == HYTEST_IOC_CONTROL) && below(&a->state, 64))
			continue;
		i++;
		fill_room(a, room, 128);
		if (below(&a->state, 2))
			make_sense(a, request, room);
		address = below(&a->state, 16) ? room :
			  (void *)(uintptr_t)odd_address(a, room);
		a->good += ioctl(fd, request, address) >= 0;
		switch (below(&a->state, 64)) {
		case 0:
			close(own);
			own = loop_open(0, flags | O_NONBLOCK);
			break;
		case 1:
			touch_mapping(a, fd);
			break;
		case 2:
			while (read(own, room, 4096) > 0)
				;
			break;
		case 3:
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0);
			break;
		default:
			break;
		}
	}
	close(own);
	munmap(room, 1 << 17);
	return NULL;
}

static uint64_t attack_all(struct __test_metadata *_metadata, struct attacker *attackers)
{
	uint64_t good = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&attackers[i].thread, NULL, attack, &attackers[i]));
	for (i = 0; i < THREADS; i++) {
		pthread_join(attackers[i].thread, NULL);
		good += attackers[i].good;
	}
	return good;
}

static void make_attackers(struct attacker *attackers, uint64_t seed, uint64_t calls, int owner,
			   bool gentle, const void *image, size_t size)
{
	int i;

	memset(attackers, 0, THREADS * sizeof(*attackers));
	for (i = 0; i < THREADS; i++) {
		attackers[i].state = seed * 31 + i + 1;
		attackers[i].calls = calls / THREADS;
		attackers[i].owner = owner;
		attackers[i].gentle = gentle;
		attackers[i].image = image;
		attackers[i].image_size = size;
	}
}

/* Calls that may not end the run: it goes on without losing its grid. */
TEST_F_TIMEOUT(hostile, calls_that_may_only_watch, 1200)
{
	uint64_t seed = setting("HYTEST_SEED", 20240101), n = setting("HYTEST_CALLS", 100000) / 2;
	struct attacker attackers[THREADS];
	struct draft *draft = rich_program();
	struct hytest_status status;
	struct view view;
	size_t size;
	void *image = draft_image(draft, &size);
	int fd = fresh_owner(_metadata, -1);
	uint64_t good;

	printf("# seed %llu, %llu calls from %d threads\n", (unsigned long long)seed,
	       (unsigned long long)n, THREADS);
	ASSERT_EQ(0, loop_run(fd, draft));
	ASSERT_EQ(0, view_open(&view, fd));
	make_attackers(attackers, seed, n, fd, true, image, size);
	good = attack_all(_metadata, attackers);
	status = view_status(&view);
	printf("# %llu of them succeeded; %llu ticks\n", (unsigned long long)good,
	       (unsigned long long)status.tick);
	EXPECT_EQ(HYTEST_RUNNING, status.state);
	EXPECT_EQ(0, status.trip.cause);
	EXPECT_LT(100, status.tick);
	EXPECT_LT(1000, good);
	EXPECT_EQ(0, loop_ioctl(fd, HYTEST_IOC_STOP, NULL));
	EXPECT_TRUE(view_wait_state(&view, HYTEST_LOADED));
	view_close(&view);
	close(fd);
	free(image);
	draft_free(draft);
}

struct herder {
	pthread_t thread;
	int fd;
	const struct draft *draft;
	uint64_t runs;
	volatile bool stop;
};

/* Keeps the loop running, whatever the others do to it. */
static void *herd(void *argument)
{
	struct herder *herder = argument;

	while (!herder->stop) {
		loop_ioctl(herder->fd, HYTEST_IOC_CONTROL, NULL);
		loop_ioctl(herder->fd, HYTEST_IOC_ACK, NULL);
		if (loop_arm(herder->fd, 0) == ENODATA)
			loop_load(herder->fd, herder->draft);
		herder->runs += !loop_ioctl(herder->fd, HYTEST_IOC_START, NULL);
		sleep_ms(1);
	}
	return NULL;
}

/* All calls: programs come and go, trips and starts race. */
TEST_F_TIMEOUT(hostile, calls_that_may_do_anything, 1200)
{
	uint64_t seed = setting("HYTEST_SEED", 20240101) + 1;
	uint64_t n = setting("HYTEST_CALLS", 100000) / 2;
	struct attacker attackers[THREADS];
	struct draft *draft = rich_program();
	struct herder herder = { .draft = draft };
	size_t size;
	void *image = draft_image(draft, &size);
	uint64_t good;

	printf("# seed %llu, %llu calls from %d threads\n", (unsigned long long)seed,
	       (unsigned long long)n, THREADS);
	herder.fd = fresh_owner(_metadata, -1);
	ASSERT_EQ(0, loop_run(herder.fd, draft));
	fflush(stdout);
	if (!freopen("/dev/null", "w", stdout))
		abort();
	ASSERT_EQ(0, pthread_create(&herder.thread, NULL, herd, &herder));
	make_attackers(attackers, seed, n, herder.fd, false, image, size);
	good = attack_all(_metadata, attackers);
	herder.stop = true;
	pthread_join(herder.thread, NULL);
	fprintf(stderr, "# %llu of them succeeded; %llu runs\n", (unsigned long long)good,
		(unsigned long long)herder.runs);
	EXPECT_LT(1000, good);
	EXPECT_LT(5, herder.runs);
	herder.fd = fresh_owner(_metadata, herder.fd);
	EXPECT_EQ(0, loop_run(herder.fd, draft));
	close(herder.fd);
	free(image);
	draft_free(draft);
}

TEST_HARNESS_MAIN
