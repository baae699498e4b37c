# SPDX-License-Identifier: GPL-2.0
# hytest: real-time hybrid testing for Linux labs.
#
#   make              build/hytest, and the modules in build/RELEASE for each kernel
#                     whose headers are present (installed, or fetched by check)
#   make modules      the modules only; KDIR=DIR for one kernel of your choice
#   make check        set up, run every test; ends with "N passed, N failed"
#   make check-long   the same and what takes longer
#   make demo         set up, boot the VM with the module and open hytest in it
#   make bench        timings, from the deterministic VM
#   make fuzz         fuzz the image validator and the experiment reader
#   make install      program, library, header, udev rule; DESTDIR=, PREFIX=
#   make clean        remove what was built, but not what was fetched

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)

O := build
PREFIX ?= /usr/local
DESTDIR ?=

CC ?= gcc
CFLAGS ?= -O2 -g
LIB_CFLAGS = $(shell pkg-config --cflags hdf5 libiio)
LIB_LIBS = $(shell pkg-config --libs hdf5 libiio)
CFLAGS_ALL = -std=gnu11 -Wall -Wextra -D_GNU_SOURCE -DHYTEST_VERSION='"$(VERSION)"' \
	     -Iinclude/uapi -Ikmod -Iuser $(LIB_CFLAGS) $(CFLAGS)
# The same bits as in the kernel: see Kbuild.
CORE_CFLAGS = $(CFLAGS_ALL) -ffreestanding -fno-math-errno -ffp-contract=off
LDLIBS = -lconfig $(LIB_LIBS) -lm -lpthread

CORE := $(wildcard kmod/core/*.c)
LIBRARY := $(filter-out user/main.c user/cmd_%.c,$(wildcard user/*.c))
PROGRAM := user/main.c $(wildcard user/cmd_*.c)
objects = $(patsubst %.c,$(O)/obj/%.o,$(1))

.PHONY: all setup program modules check check-long demo bench fuzz install clean
.DELETE_ON_ERROR:

all: setup
	@$(MAKE) --no-print-directory program modules

setup:
	@scripts/setup build

program: $(O)/hytest $(O)/libhytest.a

$(O)/hytest: $(call objects,$(PROGRAM)) $(O)/libhytest.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/libhytest.a: $(call objects,$(CORE) $(LIBRARY))
	rm -f $@
	$(AR) rcs $@ $^

$(O)/obj/kmod/core/%.o: kmod/core/%.c Makefile dkms.conf
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -MMD -c -o $@ $<

$(O)/obj/user/%.o: user/%.c Makefile dkms.conf
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -c -o $@ $<

-include $(patsubst %.o,%.d,$(call objects,$(CORE) $(LIBRARY) $(PROGRAM)))

modules:
	@scripts/build-modules $(O) $(KDIR)

check:
	@scripts/check

check-long:
	@HYTEST_TICKS=300000 scripts/check $$(scripts/check --list) smp-6.1

demo:
	@scripts/demo

bench:
	@scripts/setup check
	@scripts/fetch-kernels
	@$(MAKE) --no-print-directory program modules
	@scripts/bench

fuzz:
	@scripts/setup check
	@scripts/fuzz

install: program
	install -D -m 755 $(O)/hytest $(DESTDIR)$(PREFIX)/bin/hytest
	install -D -m 644 $(O)/libhytest.a $(DESTDIR)$(PREFIX)/lib/libhytest.a
	install -D -m 644 user/libhytest.h $(DESTDIR)$(PREFIX)/include/libhytest.h
	install -d $(DESTDIR)$(PREFIX)/include/linux
	install -m 644 include/uapi/linux/*.h $(DESTDIR)$(PREFIX)/include/linux
	install -D -m 644 scripts/99-hytest.rules $(DESTDIR)/etc/udev/rules.d/99-hytest.rules
	install -d $(DESTDIR)$(PREFIX)/share/hytest/experiments
	install -m 644 user/experiments/* $(DESTDIR)$(PREFIX)/share/hytest/experiments
	install -d $(DESTDIR)/usr/src/hytest-$(VERSION)
	cp -r Kbuild Makefile dkms.conf kmod include scripts $(DESTDIR)/usr/src/hytest-$(VERSION)
	@echo "Modules: dkms add hytest/$(VERSION) && dkms install hytest/$(VERSION)"

clean:
	find $(O) -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +
